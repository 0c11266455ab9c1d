"""Follows and commands executions of a harness runtime, whatever happens to the connection.

Written by hand, over the generated stubs beside it. :class:`Client` is for threads; `harnessruntime_client.aio` has the
same for asyncio.
"""

from harnessruntime_client.client import Client
from harnessruntime_client.errors import ContiguityError, HarnessError, is_retryable
from harnessruntime_client.log import Waits

__all__ = ["Client", "ContiguityError", "HarnessError", "Waits", "is_retryable"]
