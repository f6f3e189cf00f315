"""A class around one lab: the teacher's run as phones follow it, their guesses, and the one class of photos they may add to.

A phone knows the room's code and its own token, and nothing by which anything else could be asked for: no project, run or photo.
"""

from __future__ import annotations

import io
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forget_me_not.demo.packs import Packs
from forget_me_not.demo.session import ID, Session
from forget_me_not.demo.stage import Stage
from forget_me_not.models.decode import decode
from forget_me_not.models.problem import Problem

LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
"""No two that are taken for each other."""
CODE = 6
WRONG, WITHIN = 60, 60.0
"""Wrong codes an address may try in so many seconds; 31**6 codes take it decades."""
PHONES, GONE, HERE = 120, 1800.0, 15.0
"""Phones in a room; seconds after which one that has left makes room; and after which it is no longer counted as here."""
PHOTOS_EACH, PHOTOS_ALL, PHOTO_BYTES = 12, 400, 16 * 2**20
SIDE, PHOTO = 1600, "photo"
"""Pixels on the long side of what is kept of a phone's photo, and what a sentence calls it."""


@dataclass
class Phone:
    """One device: its number in the order of arrival, its guess in this round, photos sent, and when it was last heard of."""

    number: int
    guess: int | None = None
    sent: int = 0
    seen: float = 0.0


class Room:
    """The class of this lab, kept in memory only: with the lab it is over. clock: seconds, for tests of its patience."""

    def __init__(self, session: Session, clock: Callable[[], float] = time.monotonic):
        self.session, self.clock, self.stage = session, clock, Stage(Packs(session), clock)
        self.code = "".join(secrets.choice(LETTERS) for _ in range(CODE))
        self.photos = 0
        self._open: tuple[str, int] | None = None
        self._phones: dict[str, Phone] = {}
        self._numbers = 0
        self._wrong: dict[str, list[float]] = {}
        self._lock = threading.RLock()

    # Phones

    def enter(self, code: str, address: str) -> None:
        """Nothing, where `code` is the room's; Problem("room_unknown"), Problem("room_tries") after too many wrong ones."""
        now = self.clock()
        with self._lock:
            tries = [t for t in self._wrong.get(address, ()) if now - t < WITHIN]
            if len(tries) >= WRONG:
                raise Problem("room_tries")
            if secrets.compare_digest(re.sub(r"[\s-]", "", code)[:40].upper().encode(), self.code.encode()):
                return
            if len(self._wrong) > 1000:
                self._wrong.clear()
            self._wrong[address] = [*tries, now]
        raise Problem("room_unknown")

    def phone(self, token: str | None) -> Phone:
        """The phone with this token, heard of now; Problem("phone_unknown")."""
        with self._lock:
            known = self._phones.get(token or "")
            if known is None:
                raise Problem("phone_unknown")
            known.seen = self.clock()
            return known

    def admit(self, token: str | None) -> str:
        """The token of a phone that enters: its own, where the room knows it, else a new one; Problem("room_full")."""
        with self._lock:
            now = self.clock()
            if token in self._phones:
                return token
            self._phones = {t: p for t, p in self._phones.items() if now - p.seen < GONE}
            if len(self._phones) >= PHONES:
                raise Problem("room_full", limit=PHONES)
            token = secrets.token_hex(16)
            self._numbers += 1
            self._phones[token] = Phone(self._numbers, seen=now)
            return token

    def guess(self, phone: Phone, asked: Mapping[str, Any]) -> None:
        """Takes a phone's guess of this round, or takes it back (None); Problem("guess_late") once the answer is out."""
        wanted, most = asked.get("guess"), self.stage.memory
        if wanted is not None and (isinstance(wanted, bool) or not isinstance(wanted, int) or not 0 <= wanted <= most):
            raise Problem("request_bad")
        with self._lock:
            if self.stage.shown is None or self.stage.revealed or asked.get("round") != self.stage.round:
                raise Problem("guess_late")
            phone.guess = wanted

    def told(self, phone: Phone, tag: str) -> dict[str, Any]:
        """What a phone shows; with the story of the run only where `tag` is not that of the one it has."""
        story, newest = self.stage.story()
        shown, opened = self.stage.shown, self.opened()
        said = {"round": self.stage.round, "tag": newest, "guess": phone.guess, "revealed": self.stage.revealed,
                "position": self.stage.position, "playing": bool(shown and shown.playing), **self._votes(),
                "open": opened and {"class": opened["name"]}, "sent": phone.sent,
                "left": max(0, min(PHOTOS_EACH - phone.sent, PHOTOS_ALL - self.photos))}  # fmt: skip
        return said if tag == newest else {**said, "story": story}

    def may_send(self, phone: Phone) -> dict[str, Any]:
        """The class that is open to this phone's next photo; Problems class_closed, photos_phone, photos_room."""
        opened = self.opened()
        if opened is None:
            raise Problem("class_closed")
        self._room_for(phone)
        return opened

    def add(self, phone: Phone, path: Path) -> None:
        """Puts the photo at `path` into the open class, redrawn: no bytes, places or names of the phone come with it.

        Problems: those of may_send and of decode; photos_full.
        """
        opened = self.may_send(phone)
        with self._lock:
            self._room_for(phone)
            phone.sent, self.photos = phone.sent + 1, self.photos + 1
            name = f"phone-{phone.number:02d}-{phone.sent:02d}.jpg"
        try:
            redraw(path)
            project = self.session.project(opened["project"])
            with project.lock:  # the class keeps its name meanwhile: names are what photos are sorted by
                if (now := self.opened()) is None or now["class"] != opened["class"]:
                    raise Problem("class_closed")
                self.session.upload(project, path, name, now["name"], "")
        except BaseException:
            with self._lock:
                phone.sent, self.photos = phone.sent - 1, self.photos - 1
            raise

    # The teacher

    def show(self, asked: Mapping[str, Any]) -> None:
        """Takes what a page of the teacher's has on show (see Stage.show); a new round begins without guesses."""
        with self._lock:
            if self.stage.show(asked):
                for phone in self._phones.values():
                    phone.guess = None

    def open(self, pid: Any, class_id: Any) -> None:
        """Lets phones send photos to this class of this project, and to no other; Problems project_unknown, class_closed."""
        if not isinstance(pid, str) or not ID.fullmatch(pid) or isinstance(class_id, bool) or not isinstance(class_id, int):
            raise Problem("request_bad")
        known = self.session.project(pid).data["classes"]
        if not any(c["id"] == class_id for c in known):
            raise Problem("class_closed")
        self._open = pid, class_id

    def close(self) -> None:
        """No photos any more."""
        self._open = None

    def opened(self) -> dict[str, Any] | None:
        """The class that is open: {"project", "class", "name"}; None where none is, or it is no longer there."""
        if self._open is None:
            return None
        pid, class_id = self._open
        try:
            found = next(c for c in self.session.project(pid).data["classes"] if c["id"] == class_id)
        except (Problem, StopIteration):
            return None
        return {"project": pid, "class": class_id, "name": found["name"]}

    def seen(self) -> dict[str, Any]:
        """What the teacher's page shows of the class."""
        with self._lock:
            here = sum(self.clock() - phone.seen < HERE for phone in self._phones.values())
        opened = self.opened()
        return {"code": self.code, "round": self.stage.round, "revealed": self.stage.revealed, "phones": here,
                **self._votes(), "photos": self.photos,
                "open": opened and {"project": opened["project"], "class": opened["class"]}}  # fmt: skip

    # Inside

    def _room_for(self, phone: Phone) -> None:
        if phone.sent >= PHOTOS_EACH:
            raise Problem("photos_phone", limit=PHOTOS_EACH)
        if self.photos >= PHOTOS_ALL:
            raise Problem("photos_room", limit=PHOTOS_ALL)

    def _votes(self) -> dict[str, Any]:
        """How many have guessed; what they guessed only once the answer is out, so that nobody is led."""
        with self._lock:
            guesses = [phone.guess for phone in self._phones.values() if phone.guess is not None]
        most = self.stage.memory
        tally = [guesses.count(n) for n in range(most + 1)] if self.stage.revealed else None
        return {"answers": len(guesses), "tally": tally}


def redraw(path: Path) -> None:
    """The photo at `path` as a JPEG of ours in its place, upright, at most SIDE pixels long; Problems of decode()."""
    image = decode(path.read_bytes(), PHOTO)
    image.thumbnail((SIDE, SIDE))
    drawn = io.BytesIO()
    image.save(drawn, "JPEG", quality=92)
    path.write_bytes(drawn.getvalue())
