import type { VersionFormat } from '../domain/model.ts'
import type { ContainerPlan } from './container-plan.ts'
import type { Layout } from './layout.ts'
import type { ReadLimits } from './limits.ts'
import type { ByteSource, TensorPlaces } from './weight-file.ts'

/** What a format is recognized by: never the file's name. */
export interface Sample {
  /** The first bytes of the file. */
  readonly head: Uint8Array
  readonly size: number
  /** Names of the members of a zip archive; null: the file is none. */
  readonly members: readonly string[] | null
  /** The first bytes as text; null: they are none. */
  readonly text: string | null
}

export interface FormatDescriptor {
  /** With its article, for messages: 'a safetensors file'. */
  readonly title: string
  /** Without the dot; the first one is given to files that need a name. */
  readonly extensions: readonly string[]
  /**
   * Where its tensors are. Formats with it can be aggregated. Without `plan` or `writtenAs`, results are copies with
   * other values in their places.
   */
  read?(source: ByteSource, limits: ReadLimits): TensorPlaces
  /** A new file of this format. */
  plan?(layout: Layout): ContainerPlan
  /** The format that its results have where a copy cannot be patched. */
  readonly writtenAs?: 'torch-zip'
  /** Files of this format that hold nothing to aggregate are kept as they are, as those of formats without `read`. */
  readonly mayBeOpaque?: true
  /** Of files that are not read: follows the file's own lengths, so that a damaged one is not kept. Throws bad_request. */
  check?(source: ByteSource): void
  /** Text, which a few float32 values may look like by chance. */
  readonly isText?: true
  /** What to send in its place, where it cannot be aggregated. */
  readonly instead?: string
  /** Formats of catalog versions whose bytes may look so; the first one is meant where none is named. */
  readonly versions: readonly VersionFormat[]
  /** Whether the first one of `versions` follows from the content alone. */
  readonly decides: boolean
  /** Called in the order of the table: earlier checks are more certain. */
  sniff(sample: Sample): boolean
}
