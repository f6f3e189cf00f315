"""The lab as a process under fire: the very server, told by its environment when it and its worker are to die."""

from __future__ import annotations

import sys
from pathlib import Path

from forget_me_not.demo.soak.fuse import arm

if __name__ == "__main__":
    arm()
    from forget_me_not.demo.server import serve

    serve(port=0, home=sys.argv[1], backbone="random", plugins=[str(Path(__file__).with_name("plugin.py"))])
