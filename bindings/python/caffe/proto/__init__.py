"""caffe.proto.caffe_pb2: the messages, made by protoc from Cortado's schema."""
