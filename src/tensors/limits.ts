/** Limits on the cost of parsing one file: generous for real models, small for a server. */
export interface ReadLimits {
  /** Total declared size of all deflated members. */
  readonly maxInflatedBytes: number
}

export const DEFAULT_LIMITS: ReadLimits = { maxInflatedBytes: 2 ** 31 }

export const MAX_SAFETENSORS_HEADER = 16 * 1024 * 1024
export const MAX_PICKLE_BYTES = 32 * 1024 * 1024
export const MAX_PICKLE_OPCODES = 3_000_000
/** Of everything a byte of pickle can create, dicts and sets take the most memory. */
export const MAX_PICKLE_DICTS = 250_000
/** Limits the search for tensors in a checkpoint: a few shared dicts can form billions of paths. */
export const MAX_VISITED_VALUES = 500_000
export const MAX_NESTING = 64
export const MAX_TENSORS = 100_000
/** Total characters of all tensor names in a file. */
export const MAX_NAME_CHARACTERS = 16 * 1024 * 1024
export const MAX_ZIP_MEMBERS = 200_000
export const MAX_ZIP_DIRECTORY = 64 * 1024 * 1024
export const MAX_NPY_HEADER = 1024 * 1024
/** Each deflated array must be partly inflated to read its header. */
export const MAX_DEFLATED_MEMBERS = 10_000
/** Deflate cannot exceed 1032:1, so a member that claims more is invalid. */
export const MAX_DEFLATE_RATIO = 1100
/** Views of shared storage may add up to more bytes than the file has, but at most to factor * size + slack. */
export const MAX_VIEW_FACTOR = 4
export const MAX_VIEW_SLACK = 64 * 1024 * 1024
/** The number of structures read from an HDF5 file, and the maximum bytes of one. */
export const MAX_HDF5_BLOCKS = 500_000
export const MAX_HDF5_BLOCK = 16 * 1024 * 1024
export const MAX_DIMENSIONS = 64
