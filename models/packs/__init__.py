"""Starter packs: pictures drawn or scanned, their features shipped, so that the lab plays at once and without a backbone."""
