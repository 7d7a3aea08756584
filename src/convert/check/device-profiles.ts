// Devices that models are checked for, with nominal values, none measured. Bandwidth is transfers per second times bus width.

export type Runtime = 'llama.cpp' | 'onnxruntime' | 'tflite' | 'coreml'

export interface DeviceProfile {
  readonly id: string
  readonly name: string
  readonly kind: 'phone' | 'board' | 'laptop' | 'graphics card' | 'microcontroller'
  readonly memoryBytes: number
  /** The share that one program may use next to the system. */
  readonly usableShare: number
  /** Peak memory bandwidth in bytes per second. */
  readonly bandwidth: number
  /** Peak floating-point operations per second of all cores: cores x clock x f32 lanes x 2. */
  readonly flops: number
  readonly runtimes: readonly Runtime[]
  readonly source: string
}

const GB = 2 ** 30
const ANDROID: readonly Runtime[] = ['tflite', 'onnxruntime', 'llama.cpp']
const APPLE: readonly Runtime[] = ['coreml', 'tflite', 'onnxruntime', 'llama.cpp']
const SERVER: readonly Runtime[] = ['onnxruntime', 'tflite', 'llama.cpp']

/** Bytes per second for millions of transfers per second over a bus of this width. */
const memory = (transfers: number, bits: number): number => (transfers * 1e6 * bits) / 8

const row = (
  id: string,
  name: string,
  kind: DeviceProfile['kind'],
  gigabytes: number,
  bandwidth: number,
  gigaflops: number,
): Omit<DeviceProfile, 'source'> => {
  const isApple = id.startsWith('iphone') || id.startsWith('macbook')
  return {
    id,
    name,
    kind,
    memoryBytes: gigabytes * GB,
    // iOS kills a program at about half of the memory; more is hard to get on Android; a graphics card holds little else.
    usableShare: kind === 'phone' ? 0.5 : kind === 'graphics card' ? 0.9 : 0.75,
    bandwidth,
    flops: gigaflops * 1e9,
    runtimes: kind === 'microcontroller' ? ['tflite'] : isApple ? APPLE : kind === 'phone' ? ANDROID : SERVER,
  }
}

const TEARDOWN = 'memory as found in teardowns; Apple publishes neither size nor type'

export const DEVICE_PROFILES: readonly DeviceProfile[] = [
  { ...row('iphone-se-3', 'iPhone SE (3rd generation)', 'phone', 4, memory(4266, 64), 100), source: TEARDOWN },
  { ...row('iphone-13', 'iPhone 13', 'phone', 4, memory(4266, 64), 100), source: TEARDOWN },
  { ...row('iphone-15-pro', 'iPhone 15 Pro', 'phone', 8, memory(6400, 64), 120), source: TEARDOWN },
  {
    ...row('pixel-6a', 'Google Pixel 6a', 'phone', 6, memory(6400, 64), 130),
    source: 'Google, technical specifications: 6 GB LPDDR5',
  },
  {
    ...row('pixel-8', 'Google Pixel 8', 'phone', 8, memory(8533, 64), 140),
    source: 'Google, technical specifications: 8 GB LPDDR5X',
  },
  {
    ...row('galaxy-s24', 'Samsung Galaxy S24 (Snapdragon)', 'phone', 8, memory(9600, 64), 200),
    source: 'Qualcomm, Snapdragon 8 Gen 3 product brief: LPDDR5x, 4800 MHz',
  },
  {
    ...row('galaxy-a15', 'Samsung Galaxy A15', 'phone', 4, memory(4266, 32), 80),
    source: 'MediaTek, Helio G99: LPDDR4X, 4266 MT/s',
  },
  {
    ...row('pi-zero-2w', 'Raspberry Pi Zero 2 W', 'board', 0.5, memory(900, 32), 32),
    source: 'Raspberry Pi, product brief: 512 MB LPDDR2, four Cortex-A53 of 1 GHz',
  },
  {
    ...row('pi-4', 'Raspberry Pi 4, 4 GB', 'board', 4, memory(3200, 32), 58),
    source: 'Raspberry Pi, product brief: LPDDR4-3200, four Cortex-A72 of 1.8 GHz',
  },
  {
    ...row('pi-5', 'Raspberry Pi 5, 8 GB', 'board', 8, memory(4267, 32), 154),
    source: 'Raspberry Pi, product brief: LPDDR4X-4267, four Cortex-A76 of 2.4 GHz',
  },
  {
    ...row('jetson-orin-nano', 'NVIDIA Jetson Orin Nano, 8 GB', 'board', 8, 68e9, 1280),
    source: 'NVIDIA, data sheet: 68 GB/s, 1024 cores of 625 MHz',
  },
  {
    ...row('esp32-s3', 'ESP32-S3 with 8 MB PSRAM', 'microcontroller', 8 / 1024, memory(80, 8) * 2, 0.5),
    source: 'Espressif, ESP32-S3 data sheet: octal PSRAM, 80 MHz',
  },
  {
    ...row('chromebook-n100', 'Laptop with Intel N100, 8 GB', 'laptop', 8, memory(4800, 64), 180),
    source: 'Intel, product specifications: one channel of DDR5-4800',
  },
  {
    ...row('laptop-i5', 'Laptop with Intel Core i5-1240P, 16 GB', 'laptop', 16, memory(3200, 128), 500),
    source: 'Intel, product specifications: two channels of DDR4-3200',
  },
  {
    ...row('macbook-air-m1', 'MacBook Air M1, 8 GB', 'laptop', 8, memory(4266, 128), 2600),
    source: 'Apple: unified memory of 68.25 GB/s, 2.6 teraflops',
  },
  {
    ...row('macbook-air-m2', 'MacBook Air M2, 16 GB', 'laptop', 16, memory(6400, 128), 3600),
    source: 'Apple: unified memory of 100 GB/s, 3.6 teraflops',
  },
  {
    ...row('rtx-4060', 'NVIDIA GeForce RTX 4060, 8 GB', 'graphics card', 8, memory(17_000, 128), 15_000),
    source: 'NVIDIA: GDDR6 of 17 Gbit/s, 128 bits, 15 teraflops',
  },
  {
    ...row('rtx-4090', 'NVIDIA GeForce RTX 4090, 24 GB', 'graphics card', 24, memory(21_000, 384), 82_600),
    source: 'NVIDIA: GDDR6X of 21 Gbit/s, 384 bits, 83 teraflops',
  },
]
