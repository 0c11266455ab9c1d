"""A provider in Python that dials in to a harness runtime.

It wraps two kinds of harness, with no dependency on either: one that is an async generator of steps, as LangGraph's
`astream` is, and one that calls hooks, as the OpenAI Agents SDK does. Run it beside `npx harness serve`:

    python main.py 127.0.0.1:4310
    npx harness run python-agent "tidy the attic"
"""

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator
from typing import Any

from harnessruntime.v1.event_pb2 import Event
from harnessruntime_provider import Provider, RunContext, serve

PLAN = ["look around", "sort what is there", "throw away the rest"]


# -- a harness that yields its steps: put the graph's astream() in its place ------------------------------------------


async def graph(task: str, state: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Yields one update a step; `state` is its checkpoint."""
    for number in range(state["step"], len(PLAN)):
        await asyncio.sleep(state["pace"])
        yield {"node": "worker", "say": f"{number + 1}. {PLAN[number]} ", "step": number + 1}


async def run_graph(ctx: RunContext) -> str | None:
    """Maps each update to an event; the checkpoint is stored in the write that appends it."""
    state: dict[str, Any] = {"step": 0, "pace": ctx.config.get("pace", 0.05)}
    if ctx.resume is not None and ctx.resume.state:
        state |= json.loads(ctx.resume.state)
    async for update in graph(ctx.input.text, state):
        ctx.save_resume_state(json.dumps({"step": update["step"]}).encode())
        await ctx.text(update["say"])
    return None


# -- a harness that calls hooks: put Runner.run(agent, task, hooks=hooks) in its place ---------------------------------


class Hooks:
    """What the agent calls while it works."""

    def __init__(self, ctx: RunContext) -> None:
        self.ctx = ctx

    async def on_llm_end(self, text: str, tokens: int) -> None:
        usage = Event()
        usage.model_completed.model = "example"
        usage.model_completed.usage.total_tokens = tokens
        await self.ctx.emit(usage)
        await self.ctx.text(text)

    async def on_tool_start(self, call_id: str, name: str) -> None:
        started = Event()
        started.tool_call_started.tool_call_id = call_id
        started.tool_call_started.name = name
        await self.ctx.emit(started)

    async def on_tool_end(self, call_id: str, name: str, error: str = "") -> None:
        ended = Event()
        ended.tool_call_completed.tool_call_id = call_id
        ended.tool_call_completed.name = name
        ended.tool_call_completed.error = error
        await self.ctx.emit(ended)

    async def needs_approval(self, name: str) -> bool:
        answer = await self.ctx.approve(f"tool {name}", f"May the agent run {name}?")
        return answer.approved


async def agent(task: str, hooks: Hooks) -> str:
    """Runs one tool, if it may, and says so."""
    await hooks.on_tool_start("call-1", "throw_away")
    allowed = await hooks.needs_approval("throw_away")
    await hooks.on_tool_end("call-1", "throw_away", "" if allowed else "denied")
    await hooks.on_llm_end(f"{task}: {'done' if allowed else 'left as it is'}", 7)
    return "done" if allowed else "left"


async def run_agent(ctx: RunContext) -> str | None:
    await agent(ctx.input.text, Hooks(ctx))
    return None


# -- a turn that is steered: each steer is repeated until one says "stop" ---------------------------------------------


async def run_chat(ctx: RunContext) -> str | None:
    async for steer in ctx.steers():
        await ctx.text(steer.text + " ")
        if steer.text == "stop":
            break
    return None


async def run(ctx: RunContext) -> str | None:
    ways = {"graph": run_graph, "agent": run_agent, "chat": run_chat}
    return await ways[ctx.config.get("way", "graph")](ctx)


PROVIDER = Provider(
    id="python-agent",
    version="1.0.0",
    run=run,
    capacity=32,
    capabilities={
        "action.approval": "NATIVE",
        "event.streaming": "NATIVE",
        "execution.cancel": "NATIVE",
        "execution.resume": "NATIVE",
        "input.follow_up": "NATIVE",
        "input.replace": "NATIVE",
        "input.steer": "NATIVE",
    },
    config_schema={
        "type": "object",
        "properties": {"way": {"enum": ["graph", "agent", "chat"]}, "pace": {"type": "number", "minimum": 0}},
        "additionalProperties": False,
    },
)

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    asyncio.run(serve(PROVIDER, sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:4310"))
