/** How bytes are told to be the right ones: sha256 of them, or git's own name for them. */
export interface Digest {
  readonly algorithm: 'sha256' | 'git-blob'
  readonly hex: string
}

/** A file that another host has, as that host described it. */
export interface RemoteFile {
  /** For messages: `hf:org/model:file.gguf`. */
  readonly label: string
  readonly url: URL
  /** Headers for the host of `url`, and for no other. Asked for before each try: keys may run out. */
  readonly ownHeaders: () => Promise<Readonly<Record<string, string>>>
  /** The file's ETag, without quotes; null when there is none to compare. */
  readonly etag: string | null
  readonly size: number | null
  readonly digest: Digest
  /** What an answer other than 2xx means, for people. */
  readonly refusal: (response: Response) => Promise<Error>
}

/** A remote file, and what to call it here. */
export interface FoundFile extends RemoteFile {
  /** A name, never a path. */
  readonly fileName: string
  /** What a person should know of the choice. */
  readonly notes: readonly string[]
}

/** The last part of a path from elsewhere, with nothing in it that a file system or a terminal could take for more. */
export const safeFileName = (path: string): string => {
  const base = path.split(/[\\/]/).at(-1) ?? ''
  const plain = base
    .replace(/[^\w.+-]/g, '_')
    .replace(/^\.+/, '_')
    .slice(-150)
  return plain === '' || /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(plain) ? `_${plain}` : plain
}
