"""The Connect protocol with JSON over HTTP/1.1, with nothing but the standard library, for requests of the wire tests."""

import base64
import http.client
import json
import struct
from typing import Any

from google.protobuf import descriptor_pool, json_format, message_factory

END_OF_STREAM = 0b10


def call(question: dict[str, Any], streaming: bool) -> dict[str, Any]:
    """Makes one call that has one request."""
    connection = http.client.HTTPConnection(question["url"].removeprefix("http://"), timeout=600)
    headers = {"content-type": "application/connect+json" if streaming else "application/json"}
    if question.get("token"):
        headers["authorization"] = f"Bearer {question['token']}"
    body = json.dumps(question["requests"][0]).encode()
    if streaming:
        body = struct.pack(">BI", 0, len(body)) + body
    try:
        path = f"/harnessruntime.v1.{question['service']}/{question['method']}"
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        if streaming:
            return stream_outcome(response, question)
        text = response.read()
        if response.status == 200:
            return {"responses": [by_field_names(json.loads(text), question)], "bytes": [len(text)]}
        return {"responses": [], "bytes": [], "error": failure_of(json.loads(text))}
    finally:
        connection.close()


def stream_outcome(response: http.client.HTTPResponse, question: dict[str, Any]) -> dict[str, Any]:
    outcome: dict[str, Any] = {"responses": [], "bytes": []}
    while True:
        flags, size = struct.unpack(">BI", response.read(5))
        text = response.read(size)
        message = json.loads(text)
        if flags & END_OF_STREAM:
            if "error" in message:
                outcome["error"] = failure_of(message["error"])
            return outcome
        outcome["responses"].append(by_field_names(message, question))
        outcome["bytes"].append(len(text))
        if question.get("until") and f'"{question["until"]}":' in json.dumps(outcome["responses"][-1]):
            return outcome


def by_field_names(message: dict[str, Any], question: dict[str, Any]) -> dict[str, Any]:
    """The same JSON with the fields' own names instead of lowerCamelCase."""
    service = descriptor_pool.Default().FindServiceByName(f"harnessruntime.v1.{question['service']}")
    kind = message_factory.GetMessageClass(service.methods_by_name[question["method"]].output_type)
    return json_format.MessageToDict(json_format.ParseDict(message, kind()), preserving_proto_field_name=True)


def failure_of(error: dict[str, Any]) -> dict[str, Any]:
    details = []
    for detail in error.get("details", []):
        kind = message_factory.GetMessageClass(descriptor_pool.Default().FindMessageTypeByName(detail["type"]))
        value = base64.b64decode(detail["value"] + "==")
        fields = json_format.MessageToDict(kind.FromString(value), preserving_proto_field_name=True)
        details.append({"type": detail["type"], **fields})
    return {"code": error["code"].upper(), "details": details}
