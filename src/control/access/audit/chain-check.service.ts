import { canonicalHead } from '../../../domain/audit.ts'
import type { Signer } from '../../../platform/secrets.ts'
import type { Context } from '../../context.ts'
import { hashOfEntry } from './audit.service.ts'
import { auditStore, type ChainedEntry, type ChainHead } from './audit.store.ts'

/** The signed end of a chain at a point in time. */
export interface SignedHead {
  readonly orgId: string
  readonly seq: number
  readonly hash: string
  /** ISO 8601. */
  readonly at: string
  readonly signature: string
}

/** The first entry that breaks the chain, and why. */
export interface ChainFault {
  readonly seq: number
  readonly reason: string
}

/** The result of checking one organization's chain. */
export interface ChainReport {
  readonly orgId: string
  readonly entries: number
  readonly firstSeq: number
  readonly lastSeq: number
  readonly lastHash: string
  /** The number of signed heads that were compared. */
  readonly heads: number
  readonly fault: ChainFault | null
}

const CHECKED_AT_ONCE = 500

/** The text that is signed for the last entry that retention deleted. */
export const prunedText = (orgId: string, { seq, hash }: { readonly seq: number; readonly hash: string }): string =>
  canonicalHead('pruned', { orgId, seq, hash, at: '' })

type Hashes = ReadonlyMap<number, string>

const faultOf = (entry: ChainedEntry, seq: number, hash: string, kept: Hashes): ChainFault | null => {
  if (entry.seq === seq) return { seq, reason: 'there are two entries with this number' }
  if (entry.seq !== seq + 1) return { seq: seq + 1, reason: 'it is missing' }
  if (entry.prevHash !== hash) return { seq: entry.seq, reason: 'its prev_hash is not the hash of the entry before it' }
  if (hashOfEntry(entry) !== entry.hash) return { seq: entry.seq, reason: 'its content does not match its hash' }
  if (kept.has(entry.seq) && kept.get(entry.seq) !== entry.hash)
    return { seq: entry.seq, reason: 'its hash does not match a signed head' }
  return null
}

/** Recomputes the chain of one organization page by page, and compares it with signed heads that were kept. */
export const createChainCheck = ({ database }: Context, { signer }: { readonly signer: Signer }) => {
  const headOf = async (orgId: string): Promise<ChainHead> =>
    (await auditStore.heads(database.sql, orgId))[0] ?? {
      orgId,
      seq: 0,
      hash: '',
      prunedSeq: 0,
      prunedHash: '',
      prunedSignature: null,
    }

  /** Finds errors without reading entries: in the heads that the caller kept, or in the beginning of the chain. */
  const faultBefore = async (end: ChainHead, kept: readonly SignedHead[]): Promise<ChainFault | null> => {
    const { orgId, prunedSeq: seq, prunedHash: hash, prunedSignature } = end
    const hashes = new Map<number, string>()
    for (const head of kept) {
      if (!(await signer.isSignedBy(canonicalHead('head', head), head.signature)))
        return { seq: head.seq, reason: "its signed head was not signed with this service's audit.key" }
      if ((hashes.get(head.seq) ?? head.hash) !== head.hash) return { seq: head.seq, reason: 'two signed heads differ' }
      hashes.set(head.seq, head.hash)
    }
    if (seq > 0 && !(await signer.isSignedBy(prunedText(orgId, { seq, hash }), prunedSignature ?? '')))
      return { seq, reason: 'the record that retention deleted it was not signed by this service' }
    return seq > 0 && (hashes.get(seq) ?? hash) !== hash
      ? { seq, reason: 'its hash does not match a signed head' }
      : null
  }

  /** Finds errors at the end: missing entries, or entries after the head. */
  const faultAtEnd = async (end: ChainHead, seq: number, hash: string, kept: Hashes): Promise<ChainFault | null> => {
    if (seq < end.seq) return { seq: seq + 1, reason: 'it is missing' }
    if (hash !== end.hash) return { seq, reason: 'its hash does not match the head' }
    const latest = Math.max(0, ...kept.keys())
    if (latest > end.seq) return { seq: end.seq + 1, reason: `it is missing: a signed head names seq ${latest}` }
    // Entries are committed with their head, which is read later here: any after it were not written by the service.
    const last = await auditStore.lastSeq(database.sql, end.orgId)
    const head = await headOf(end.orgId)
    return last > head.seq ? { seq: head.seq + 1, reason: 'it is after the head of the chain' } : null
  }

  const once = async (end: ChainHead, heads: readonly SignedHead[]): Promise<ChainReport> => {
    const { orgId, prunedSeq, prunedHash } = end
    const kept: Hashes = new Map(heads.map((head) => [head.seq, head.hash]))
    let [seq, hash] = [prunedSeq, prunedHash]
    let fault = await faultBefore(end, heads)
    while (fault === null && seq < end.seq) {
      const page = await auditStore.chain(database.sql, orgId, { after: seq, upTo: end.seq, limit: CHECKED_AT_ONCE })
      if (page.length === 0) break
      for (const entry of page) {
        fault = faultOf(entry, seq, hash, kept)
        if (fault !== null) break
        seq = entry.seq
        hash = entry.hash
      }
    }
    fault ??= await faultAtEnd(end, seq, hash, kept)
    const entries = seq - prunedSeq
    const firstSeq = entries === 0 ? 0 : prunedSeq + 1
    // Those of entries that retention has deleted cannot be compared.
    const compared = heads.filter((head) => head.seq >= prunedSeq).length
    return { orgId, entries, firstSeq, lastSeq: seq, lastHash: hash, heads: compared, fault }
  }

  return async (orgId: string, heads: readonly SignedHead[]): Promise<ChainReport> => {
    for (;;) {
      const end = await headOf(orgId)
      const report = await once(end, heads)
      // Entries may have been deleted meanwhile because of their age; then the check starts again.
      if (report.fault === null || (await headOf(orgId)).prunedSeq === end.prunedSeq) return report
    }
  }
}
