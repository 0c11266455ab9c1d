"""A client in Python for the tests of the wire: `follow.py threads` or `follow.py asyncio`.

For each line {"url", "config"} of standard input: starts an execution of the provider `scripted`, follows it to its end,
and prints {"executionId", "sequences", "text"}.
"""

import asyncio
import json
import sys
from typing import Any

import grpc
from google.protobuf.json_format import ParseDict
from harnessruntime.v1.content_pb2 import Content
from harnessruntime.v1.event_pb2 import Event
from harnessruntime.v1.execution_commands_pb2 import StartExecutionRequest
from harnessruntime_client import Client, Waits, aio

HEARTBEAT = 0.1
WAITS = Waits(
    heartbeat=HEARTBEAT, base_delay=0.005, max_delay=0.05, call_timeout=0.5, call_give_up=60, stream_give_up=60
)
#: A connection that is half-open while it is made is given up at once, too.
OPTIONS = [*WAITS.channel_options(), ("grpc.min_reconnect_backoff_ms", 300), ("grpc.use_local_subchannel_pool", 1)]


def request_of(config: dict[str, Any]) -> StartExecutionRequest:
    request = StartExecutionRequest(provider_id="scripted", input=Content(text="go"))
    ParseDict(config, request.config)
    return request


def seen(execution_id: str, events: list[Event]) -> dict[str, Any]:
    text = "".join(event.output_text_delta.text for event in events)
    return {"executionId": execution_id, "sequences": [event.sequence for event in events], "text": text}


def in_threads(target: str, config: dict[str, Any]) -> dict[str, Any]:
    with Client(grpc.insecure_channel(target, options=OPTIONS), waits=WAITS) as client:
        execution = client.start(request_of(config))
        return seen(execution.id, list(client.follow_events(execution.id)))


async def in_asyncio(target: str, config: dict[str, Any]) -> dict[str, Any]:
    async with aio.Client(grpc.aio.insecure_channel(target, options=OPTIONS), waits=WAITS) as client:
        execution = await client.start(request_of(config))
        return seen(execution.id, [event async for event in client.follow_events(execution.id)])


def answer(result: dict[str, Any]) -> None:
    print(json.dumps(result), flush=True)


def target_of(job: dict[str, Any]) -> str:
    return str(job["url"]).removeprefix("http://")


def threads() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        answer(in_threads(target_of(job), job["config"]))


async def one_loop() -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        job = json.loads(line)
        answer(await in_asyncio(target_of(job), job["config"]))


if __name__ == "__main__":
    if sys.argv[1] == "asyncio":
        asyncio.run(one_loop())
    else:
        threads()
