"""Loaded by the worker like a plug-in: it brings no method, it lets the worker die when the plan says so."""

from forget_me_not.demo.soak.fuse import arm

arm()
