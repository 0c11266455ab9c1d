"""What a user writes with the generated Python client, checked as strictly as a user may."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from harnessruntime.v1.execution_pb2 import EXECUTION_STATE_RUNNING, Execution
from harnessruntime.v1.execution_service_pb2 import (
    GetExecutionRequest,
    GetExecutionResponse,
    ListExecutionsRequest,
)
from harnessruntime.v1.execution_service_pb2_grpc import ExecutionServiceStub


def get_execution(
    request: GetExecutionRequest, _context: grpc.ServicerContext
) -> GetExecutionResponse:
    execution = Execution(id=request.execution_id, state=EXECUTION_STATE_RUNNING)
    return GetExecutionResponse(execution=execution)


@pytest.fixture
def stub() -> Iterator[ExecutionServiceStub]:
    """A client of a server that has one method of the service."""
    server = grpc.server(ThreadPoolExecutor(max_workers=1))
    method = grpc.unary_unary_rpc_method_handler(
        get_execution,
        request_deserializer=GetExecutionRequest.FromString,
        response_serializer=GetExecutionResponse.SerializeToString,
    )
    service = "harnessruntime.v1.ExecutionService"
    handler = grpc.method_handlers_generic_handler(service, {"GetExecution": method})
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield ExecutionServiceStub(channel)
    server.stop(grace=None).wait()


def test_a_call_answers(stub: ExecutionServiceStub) -> None:
    response = stub.GetExecution(GetExecutionRequest(execution_id="e"))
    assert response.execution.id == "e"
    assert response.execution.state == EXECUTION_STATE_RUNNING


def test_an_error_has_its_code(stub: ExecutionServiceStub) -> None:
    with pytest.raises(grpc.RpcError) as error:
        stub.ListExecutions(ListExecutionsRequest())
    assert isinstance(error.value, grpc.Call)
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED
