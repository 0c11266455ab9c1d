"""A client in Python for the tests of the wire, by descriptors only.

For each line {"url", "protocol", "token", "service", "method", "requests", "until", "parallel"} of standard input: makes the
call, as often at once as `parallel` says, and prints what came of each: {"responses", "bytes", "error"}, as Protobuf's JSON
with the fields' own names. The stream is left after the first event that has the field `until`.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from google.rpc.status_pb2 import Status
from harnessruntime.v1 import (
    action_service_pb2,
    conversation_service_pb2,
    execution_service_pb2,
    runtime_service_pb2,
)

import connect_json

LOADED = (error_details_pb2, action_service_pb2, conversation_service_pb2, execution_service_pb2, runtime_service_pb2)
OPTIONS = [("grpc.max_receive_message_length", 4 << 20)]
Question = dict[str, Any]
Outcome = dict[str, Any]


def method_of(question: Question) -> MethodDescriptor:
    pool = descriptor_pool.Default()
    service = pool.FindServiceByName(f"harnessruntime.v1.{question['service']}")
    return service.methods_by_name[question["method"]]


def requests_of(question: Question) -> list[Message]:
    kind = message_factory.GetMessageClass(method_of(question).input_type)
    return [json_format.ParseDict(request, kind()) for request in question["requests"]]


def call_of(channel: Any, question: Question) -> Any:
    """The call of either kind of channel, with all requests sent and the sending side closed."""
    method = method_of(question)
    requests = requests_of(question)
    shape = f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"
    path = f"/{method.containing_service.full_name}/{method.name}"
    kind = message_factory.GetMessageClass(method.output_type)
    make = getattr(channel, shape)(path, lambda request: request.SerializeToString(), kind.FromString)
    headers = (("authorization", f"Bearer {question['token']}"),) if question.get("token") else ()
    return make(iter(requests) if method.client_streaming else requests[0], metadata=headers, timeout=3600)


def take(outcome: Outcome, response: Message, until: str | None) -> bool:
    """Notes a response; returns whether it is the last that is wanted."""
    fields = json_format.MessageToDict(response, preserving_proto_field_name=True)
    outcome["responses"].append(fields)
    outcome["bytes"].append(response.ByteSize())
    return bool(until) and f'"{until}":' in json.dumps(fields)


def failure_of(error: Any) -> dict[str, Any]:
    status = next((value for key, value in error.trailing_metadata() or () if key == "grpc-status-details-bin"), b"")
    details = []
    for packed in Status.FromString(status).details:
        name = packed.type_url.rsplit("/", 1)[-1]
        kind = message_factory.GetMessageClass(descriptor_pool.Default().FindMessageTypeByName(name))
        fields = json_format.MessageToDict(kind.FromString(packed.value), preserving_proto_field_name=True)
        details.append({"type": name, **fields})
    return {"code": error.code().name, "details": details}


def in_thread(channel: grpc.Channel, question: Question) -> Outcome:
    outcome: Outcome = {"responses": [], "bytes": []}
    try:
        call = call_of(channel, question)
        responses: Iterator[Message] = call if method_of(question).server_streaming else iter([call])
        if any(take(outcome, response, question.get("until")) for response in responses):
            call.cancel()
    except grpc.RpcError as error:
        outcome["error"] = failure_of(error)
    return outcome


async def in_task(channel: grpc.aio.Channel, question: Question) -> Outcome:
    outcome: Outcome = {"responses": [], "bytes": []}
    try:
        call = call_of(channel, question)
        if not method_of(question).server_streaming:
            take(outcome, await call, None)
            return outcome
        responses: AsyncIterator[Message] = call
        async for response in responses:
            if take(outcome, response, question.get("until")):
                call.cancel()
                break
    except grpc.aio.AioRpcError as error:
        outcome["error"] = failure_of(error)
    return outcome


async def in_tasks(question: Question, target: str) -> list[Outcome]:
    async with grpc.aio.insecure_channel(target, options=OPTIONS) as channel:
        return list(await asyncio.gather(*(in_task(channel, question) for _ in range(question.get("parallel", 1)))))


async def answer(question: Question) -> list[Outcome]:
    target = question["url"].removeprefix("http://")
    times = question.get("parallel", 1)
    if question["protocol"] == "gRPC, asyncio":
        return await in_tasks(question, target)
    with ThreadPoolExecutor(times) as pool:
        loop = asyncio.get_running_loop()
        if question["protocol"] == "gRPC":
            with grpc.insecure_channel(target, options=OPTIONS) as channel:
                return list(
                    await asyncio.gather(*(loop.run_in_executor(pool, in_thread, channel, question) for _ in range(times)))
                )
        streaming = method_of(question).server_streaming
        return list(
            await asyncio.gather(
                *(loop.run_in_executor(pool, connect_json.call, question, streaming) for _ in range(times))
            )
        )


async def main() -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
