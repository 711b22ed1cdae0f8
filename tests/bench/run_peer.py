"""The kernel `empty` of a cubin, once, with cuda.core: what `cudalink run` is measured against."""

import sys

try:
    from cuda.core import Device, LaunchConfig, ObjectCode, launch
except ImportError:  # before 1.0
    from cuda.core.experimental import Device, LaunchConfig, ObjectCode, launch

device = Device()
device.set_current()
stream = device.create_stream()
kernel = ObjectCode.from_cubin(sys.argv[1]).get_kernel("empty")
launch(stream, LaunchConfig(grid=1, block=1), kernel)
stream.sync()
