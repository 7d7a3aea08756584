import { follow, jsonOf, plainEtag } from '../../platform/transfer/follow.ts'
import { type Digest, type FoundFile, safeFileName } from '../../platform/transfer/remote-file.ts'
import { TransferError } from '../../platform/transfer/transfer-error.ts'
import { chooseFile, type ListedFile } from './choose-file.ts'
import type { HuggingFaceSource } from './model-source.ts'

// The protocol of huggingface_hub: the tree of a revision, and resolve addresses with the response headers x-repo-commit,
// x-linked-etag, and x-linked-size, which redirect large files to another host.
// https://huggingface.co/docs/huggingface_hub/package_reference/file_download

export interface HuggingFaceSettings {
  /** HF_ENDPOINT. */
  readonly endpoint: URL
  /** HF_TOKEN, which is sent only to that host. */
  readonly token: string | null
  readonly signal: AbortSignal
}

const MAX_PAGES = 50
const MAX_TREE_BYTES = 32 * 1024 ** 2

interface TreeFile extends ListedFile {
  readonly digest: Digest | null
}

const encoded = (path: string): string => path.split('/').map(encodeURIComponent).join('/')

const isHex = (text: unknown, digits: number): text is string =>
  typeof text === 'string' && text.length === digits && /^[0-9a-f]+$/.test(text)

const fileIn = (value: unknown): TreeFile[] => {
  const { type, path, size, oid, lfs } = (value ?? {}) as Readonly<Record<string, unknown>>
  // A path with empty or dot segments would lead to another address than it appears to.
  if (type !== 'file' || typeof path !== 'string' || /(^|\/)\.{0,2}(\/|$)/.test(path)) return []
  const linked = (lfs ?? {}) as Readonly<Record<string, unknown>>
  const bytes = typeof linked.size === 'number' ? linked.size : typeof size === 'number' ? size : 0
  if (isHex(linked.oid, 64)) return [{ path, bytes, digest: { algorithm: 'sha256', hex: linked.oid } }]
  return [{ path, bytes, digest: isHex(oid, 40) && lfs === undefined ? { algorithm: 'git-blob', hex: oid } : null }]
}

/** Explains an error response of Hugging Face by its x-error-code and x-error-message headers. */
const refusalOf = (source: HuggingFaceSource, { endpoint, token }: HuggingFaceSettings) => {
  const { repo, revision } = source
  return async (response: Response): Promise<TransferError> => {
    await response.body?.cancel()
    const code = response.headers.get('x-error-code')
    const page = new URL(repo, endpoint).href
    const { status } = response
    if (code === 'GatedRepo' || (status === 403 && code === null)) {
      const then = token === null ? 'then set HF_TOKEN to your token' : 'with the account that HF_TOKEN belongs to'
      return new TransferError(`${repo} is gated: its owners decide who may download it.`, {
        advice: `Ask for access at ${page}, ${then}.`,
      })
    }
    if (status === 401 || status === 403) {
      return token === null
        ? new TransferError(`${repo} does not exist at ${endpoint.host}, or is not public.`, {
            advice: 'Check its name. If it is private or gated, set HF_TOKEN to a token that may read it.',
          })
        : new TransferError(`${endpoint.host} does not let the token in HF_TOKEN read ${repo}.`, {
            advice: 'Check the name of the model and the token.',
          })
    }
    if (status === 404) {
      const what = { RevisionNotFound: `revision '${revision}'`, EntryNotFound: 'file of that name' }[code ?? '']
      return new TransferError(
        what === undefined ? `${endpoint.host} has no model ${repo}.` : `${repo} has no ${what}.`,
        { advice: `See ${page}` },
      )
    }
    return new TransferError(`${endpoint.host} returned ${status} for ${repo}.`, { advice: 'Try again later.' })
  }
}

const nextPage = (response: Response): string | null =>
  /<([^>]+)>;\s*rel="?next"?/.exec(response.headers.get('link') ?? '')?.[1] ?? null

const settled = (source: HuggingFaceSource, settings: HuggingFaceSettings) => {
  const { repo, revision } = source
  const { endpoint, token, signal } = settings
  const ownHeaders: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` }
  const refusal = refusalOf(source, settings)
  const at = (path: string): URL => new URL(`${endpoint.href.replace(/\/$/, '')}/${path}`)

  /** Lists all files of the repository, page by page, as long as the pages are on the same host. */
  const list = async (): Promise<readonly TreeFile[]> => {
    const files: TreeFile[] = []
    let page: URL | null = at(`api/models/${repo}/tree/${encodeURIComponent(revision)}?recursive=true`)
    for (let pages = 0; page !== null && page.origin === endpoint.origin; pages++) {
      if (pages === MAX_PAGES) throw new TransferError(`${repo} contains too many files.`)
      const { response } = await follow(page, { ownHeaders, signal, leaveHost: false })
      if (!response.ok) throw await refusal(response)
      const next = nextPage(response)
      const listed = await jsonOf(response, MAX_TREE_BYTES)
      if (!Array.isArray(listed)) throw new TransferError(`The server at ${endpoint.href} is not a Hugging Face hub.`)
      files.push(...listed.flatMap(fileIn))
      page = next === null ? null : new URL(next, page)
    }
    return files
  }
  return { ownHeaders, refusal, at, list }
}

/** Lists the files of a repository. @throws like findOnHuggingFace */
export const listOnHuggingFace = (
  source: HuggingFaceSource,
  settings: HuggingFaceSettings,
): Promise<readonly ListedFile[]> => settled(source, settings).list()

/**
 * Finds the model file of a repository, of which `listed` are the files if they are known already.
 * @throws TransferError if there is none, several, or it may not be read; Interruption if there is no answer
 */
export const findOnHuggingFace = async (
  source: HuggingFaceSource,
  settings: HuggingFaceSettings,
  listed?: readonly ListedFile[],
): Promise<FoundFile> => {
  const { repo, revision } = source
  const { endpoint, signal } = settings
  const { ownHeaders, refusal, at, list } = settled(source, settings)
  const { file, note } = chooseFile(repo, listed ?? (await list()), source.file)
  const { response: head } = await follow(at(`${repo}/resolve/${encodeURIComponent(revision)}/${encoded(file.path)}`), {
    method: 'HEAD',
    ownHeaders,
    signal,
    leaveHost: false,
  })
  const isFound = head.ok || (head.status >= 300 && head.status < 400)
  if (!isFound) throw await refusal(head)
  const etag = plainEtag(head.headers.get('x-linked-etag') ?? head.headers.get('etag'))
  const size = Number(head.headers.get('x-linked-size') ?? head.headers.get('content-length') ?? Number.NaN)
  const commit = head.headers.get('x-repo-commit')
  const { digest: digestInList } = file as TreeFile
  // The list may be older than the file that is downloaded now.
  const digest: Digest | null = isHex(etag, 64)
    ? { algorithm: 'sha256', hex: etag }
    : isHex(etag, 40)
      ? { algorithm: 'git-blob', hex: etag }
      : digestInList
  if (digest === null) {
    throw new TransferError(`${endpoint.host} gives no checksum for ${file.path}, so it cannot be verified.`)
  }
  return {
    label: `hf:${repo}:${file.path}`,
    // By commit, because a branch may move during the download of a large file.
    url: at(`${repo}/resolve/${encodeURIComponent(isHex(commit, 40) ? commit : revision)}/${encoded(file.path)}`),
    ownHeaders: async () => ownHeaders,
    etag,
    size: Number.isSafeInteger(size) ? size : file.bytes > 0 ? file.bytes : null,
    digest,
    refusal,
    fileName: safeFileName(file.path),
    notes: note === null ? [] : [note],
  }
}
