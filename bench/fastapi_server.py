"""A typical Python server: FastAPI, uvicorn and ONNX Runtime. It takes the same bytes as Cortado's server: JSON,
followed by a row of floats. It does not parse the JSON, which is in its favour.

    fastapi_server.py NET.onnx THREADS PORT threads|async
"""
import sys

import fastapi
import numpy
import onnxruntime
import uvicorn

path, threads, port, kind = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(threads)
session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
tensor = session.get_inputs()[0]
app = fastapi.FastAPI()


def answer(head, body):
    row = numpy.frombuffer(body, numpy.float32, offset=int(head)).reshape(tensor.shape)
    return fastapi.Response(session.run(None, {tensor.name: row})[0].tobytes(), media_type='application/octet-stream')


@app.post('/v2/models/{model}/infer')
async def infer(model: str, request: fastapi.Request):
    head, body = request.headers['inference-header-content-length'], await request.body()
    if kind == 'async':
        return answer(head, body)
    return await fastapi.concurrency.run_in_threadpool(answer, head, body)


uvicorn.run(app, host='127.0.0.1', port=int(port), log_level='warning', access_log=False)
