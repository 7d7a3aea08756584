/** The formats of models, with the names shown to users. */
export const FORMAT_WORDS = {
  gguf: 'a GGUF file',
  onnx: 'an ONNX model',
  mlx: 'a folder of safetensors for MLX',
  mlc: 'a folder compiled by MLC',
  mnn: 'an MNN model folder',
  remote: 'a model on another server',
} as const

/** How a model is stored, on disk or on another server. This decides which engine can run it. */
export type ModelFormat = keyof typeof FORMAT_WORDS

/** A model that can be opened. */
export interface ModelFile {
  /** The name that the user gave, such as `qwen3:4bit`, or the file name for a path. */
  readonly name: string
  /** For example `q4_0` or `4bit`; null if neither a name nor model.json has one. */
  readonly variant: string | null
  /** The file for GGUF and single ONNX files, the server's address for remote models, otherwise the folder. */
  readonly path: string
  readonly format: ModelFormat
  /** The size of everything under `path`. */
  readonly bytes: number
  /** 64 hex digits; null if it was never computed. */
  readonly sha256: string | null
  /** Its origin: `package`, `path`, or what it was added from. */
  readonly source: string
}
