/** What a single file may cost us to understand. Generous for real models, small for a server. */
export interface ReadLimits {
  /** Bytes that all deflated members together may claim to inflate to. */
  readonly maxInflatedBytes: number
}

export const DEFAULT_LIMITS: ReadLimits = { maxInflatedBytes: 2 ** 31 }

export const MAX_SAFETENSORS_HEADER = 16 * 1024 * 1024
export const MAX_PICKLE_BYTES = 32 * 1024 * 1024
export const MAX_PICKLE_OPCODES = 3_000_000
/** Dicts and sets are the most memory a single byte of pickle can ask for. */
export const MAX_PICKLE_DICTS = 250_000
/** Values visited while looking for tensors in a checkpoint: a few shared dicts can spell out billions of paths. */
export const MAX_VISITED_VALUES = 500_000
export const MAX_NESTING = 64
export const MAX_TENSORS = 100_000
/** All tensor names of one file together, in characters. */
export const MAX_NAME_CHARACTERS = 16 * 1024 * 1024
export const MAX_ZIP_MEMBERS = 200_000
export const MAX_ZIP_DIRECTORY = 64 * 1024 * 1024
export const MAX_NPY_HEADER = 1024 * 1024
/** Finding out what a deflated array holds means to begin inflating it. */
export const MAX_DEFLATED_MEMBERS = 10_000
/** Deflate cannot do better than 1032:1; a member that claims more is lying. */
export const MAX_DEFLATE_RATIO = 1100
/** Views of shared storage may spell out more bytes than the file has, but not without end: factor * size + slack. */
export const MAX_VIEW_FACTOR = 4
export const MAX_VIEW_SLACK = 64 * 1024 * 1024
/** Headers, nodes and heaps of an HDF5 file, and the bytes of one. */
export const MAX_HDF5_BLOCKS = 500_000
export const MAX_HDF5_BLOCK = 16 * 1024 * 1024
export const MAX_DIMENSIONS = 64
