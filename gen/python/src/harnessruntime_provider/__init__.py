"""Runs a provider in a process of its own, which dials in to a harness runtime.

Written by hand, over the generated stubs, for asyncio. Through breaks of the connection and restarts of the runtime
nothing that the provider emits is lost or doubled::

    async def run(ctx: RunContext) -> str | None:
        for word in ctx.input.text.split():
            await ctx.text(word + " ")
        return None

    asyncio.run(serve(Provider(id="echo", version="1.0.0", run=run), "127.0.0.1:4310"))
"""

from harnessruntime_provider.answer import Answer, QuestionAbandoned
from harnessruntime_provider.connection import Backoff, Connection, connect, serve
from harnessruntime_provider.context import RunContext
from harnessruntime_provider.provider import Provider, ProviderLost
from harnessruntime_provider.refusal import Refused

__all__ = [
    "Answer",
    "Backoff",
    "Connection",
    "Provider",
    "ProviderLost",
    "QuestionAbandoned",
    "Refused",
    "RunContext",
    "connect",
    "serve",
]
