"""Where a runtime is."""

import re

_ADDRESS = re.compile(r"(?:http://)?((?:\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+):[0-9]{1,5})/?")


def target_of(address: str) -> str:
    """Returns gRPC's target for `host:port` or `http://host:port`; raises ValueError for anything else."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise ValueError("address: must be host:port or http://host:port, such as 127.0.0.1:4310")
    return match[1]
