/** How a file is verified: by its SHA-256, or by git's blob hash. */
export interface Digest {
  readonly algorithm: 'sha256' | 'git-blob'
  readonly hex: string
}

/** A file on another host, as described by that host. */
export interface RemoteFile {
  /** For messages: `hf:org/model:file.gguf`. */
  readonly label: string
  readonly url: URL
  /** Headers for the host of `url` only. Called before each attempt, because keys may expire. */
  readonly ownHeaders: () => Promise<Readonly<Record<string, string>>>
  /** The file's ETag, without quotes; null if there is none to compare. */
  readonly etag: string | null
  readonly size: number | null
  readonly digest: Digest
  /** Returns a readable explanation of a response other than 2xx. */
  readonly refusal: (response: Response) => Promise<Error>
}

/** A remote file with its local name. */
export interface FoundFile extends RemoteFile {
  /** A name, never a path. */
  readonly fileName: string
  /** A note about the choice, for the user. */
  readonly notes: readonly string[]
}

/** Returns the last part of an untrusted path, without characters that are special to a file system or a terminal. */
export const safeFileName = (path: string): string => {
  const base = path.split(/[\\/]/).at(-1) ?? ''
  const plain = base
    .replace(/[^\w.+-]/g, '_')
    .replace(/^\.+/, '_')
    .slice(-150)
  return plain === '' || /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(plain) ? `_${plain}` : plain
}
