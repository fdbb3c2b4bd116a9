"""Makes a field with a red and a near-infrared band, a quarter of it vegetation."""
import numpy

SIZE = 1024

noise = numpy.random.default_rng(1).random((2, SIZE, SIZE), dtype=numpy.float32) * 0.05
field = noise + 0.3
field[1, : SIZE // 2, : SIZE // 2] += 0.5
numpy.save("field.npy", field)
print(f"made field.npy: 2 bands of {SIZE} x {SIZE}", flush=True)
