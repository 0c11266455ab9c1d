"""A protoc plugin: runs the grpc_python generator that is built into grpcio-tools on the request that buf sends."""

import pathlib
import sys
import tempfile

from google.protobuf import descriptor_pb2
from google.protobuf.compiler import plugin_pb2
from grpc_tools import protoc


def respond(request: plugin_pb2.CodeGeneratorRequest) -> plugin_pb2.CodeGeneratorResponse:
    response = plugin_pb2.CodeGeneratorResponse(supported_features=1)
    with tempfile.TemporaryDirectory() as folder:
        image = pathlib.Path(folder, "image.binpb")
        image.write_bytes(descriptor_pb2.FileDescriptorSet(file=request.proto_file).SerializeToString())
        out = pathlib.Path(folder, "out")
        out.mkdir()
        arguments = [f"--descriptor_set_in={image}", f"--grpc_python_out={out}", *request.file_to_generate]
        code = protoc.main(["protoc", *arguments])
        if code != 0:
            response.error = f"grpc_tools.protoc exited {code}"
        for path in sorted(out.rglob("*_pb2_grpc.py")):
            response.file.add(name=path.relative_to(out).as_posix(), content=path.read_text())
    return response


sys.stdout.buffer.write(
    respond(plugin_pb2.CodeGeneratorRequest.FromString(sys.stdin.buffer.read())).SerializeToString()
)
