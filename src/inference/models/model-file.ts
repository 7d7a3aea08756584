/** How a model lies on disk, or that another server has it, which decides what can run it. */
const MODEL_FORMATS = ['gguf', 'onnx', 'mlx', 'mlc', 'mnn', 'remote'] as const

export type ModelFormat = (typeof MODEL_FORMATS)[number]

/** What each is called to people. */
export const FORMAT_WORDS: Readonly<Record<ModelFormat, string>> = {
  gguf: 'a GGUF file',
  onnx: 'an ONNX model',
  mlx: 'a folder of safetensors for MLX',
  mlc: 'a folder compiled by MLC',
  mnn: 'an MNN model folder',
  remote: 'a model on another server',
}

/** A model that is there to be opened. */
export interface ModelFile {
  /** As the user named it: `qwen3:4bit`, or the name of the file behind a path. */
  readonly name: string
  /** Such as `q4_0` or `4bit`; null where neither a name nor model.json says. */
  readonly variant: string | null
  /** Of the file for GGUF and for an ONNX file alone; the address of the server that has it; of the folder otherwise. */
  readonly path: string
  readonly format: ModelFormat
  /** Of everything under `path`. */
  readonly bytes: number
  /** 64 hex digits, where it was ever computed. */
  readonly sha256: string | null
  /** Where it came from: `package`, `path`, or what it was added from. */
  readonly source: string
}
