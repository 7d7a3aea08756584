import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Caller } from '../../../domain/access.ts'
import { canonicalHead } from '../../../domain/audit.ts'
import { notFound, ServiceError } from '../../../domain/errors.ts'
import { jsonOrNull } from '../../../domain/parse-json.ts'
import { codeOf, faultOf } from '../../../platform/files/make-folder.ts'
import type { Signer } from '../../../platform/secrets.ts'
import type { Context } from '../../context.ts'
import type { Audit } from './audit.service.ts'
import { auditStore, type ChainHead } from './audit.store.ts'
import { type ChainReport, createChainCheck, prunedText, type SignedHead } from './chain-check.service.ts'

export type { ChainReport, SignedHead } from './chain-check.service.ts'

const HEADS_FILE = 'audit-heads.jsonl'
/** Checks, signs, exports, and prunes the chains of the audit log. */
export const createAuditChains = (
  context: Context,
  parts: {
    readonly signer: Signer
    readonly audit: Pick<Audit, 'scopeOf'>
    readonly dataDir: string
  },
) => {
  const { database, now } = context
  const { signer, audit, dataDir } = parts
  const path = join(dataDir, HEADS_FILE)
  const check = createChainCheck(context, parts)
  let exported: Map<string, number> | null = null

  const signed = async ({ orgId, seq, hash }: ChainHead): Promise<SignedHead> => {
    const head = { orgId, seq, hash, at: now().toISOString() }
    return { ...head, signature: await signer.sign(canonicalHead('head', head)) }
  }

  const refuse = (error: unknown): never => {
    throw new Error(`Signed audit heads cannot be added to ${path}: ${faultOf(error)}.`, { cause: error })
  }

  const readExported = async (): Promise<Map<string, number>> => {
    const found = new Map<string, number>()
    try {
      for await (const line of createInterface({ input: createReadStream(path) })) {
        const head = jsonOrNull(line) as { org_id: string; seq: number } | null
        if (head !== null) found.set(head.org_id, head.seq)
      }
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') refuse(error)
    }
    return found
  }

  /** A full disk or a killed process may have left an incomplete line: begins a new one. */
  const append = async (lines: string): Promise<void> => {
    const file = await open(path, 'a+', 0o600)
    try {
      const { size } = await file.stat()
      const isTorn = size > 0 && (await file.read(Buffer.alloc(1), 0, 1, size - 1)).buffer.toString() !== '\n'
      await file.appendFile(`${isTorn ? '\n' : ''}${lines}`)
      await file.sync()
    } finally {
      await file.close()
    }
  }

  return {
    publicKey: signer.publicKey,

    /** The ends of the chains that the caller may see, signed now. */
    async heads(caller: Caller): Promise<SignedHead[]> {
      return Promise.all((await auditStore.heads(database.sql, caller.orgId)).map(signed))
    },

    /** Recomputes the chains that the caller may see, or only that of `orgId`, and compares them with signed heads. */
    async verify(caller: Caller, orgId: string | undefined, kept: readonly SignedHead[]): Promise<ChainReport[]> {
      const scope = audit.scopeOf(caller, orgId)
      if (scope === null) throw notFound('Organization', orgId!)
      const ofScope = kept.filter((head) => scope.orgId === null || head.orgId === scope.orgId)
      const known = (await auditStore.heads(database.sql, scope.orgId)).map((head) => head.orgId)
      const orgs =
        scope.orgId !== null
          ? [scope.orgId]
          : [
              ...new Set([
                ...known,
                ...(await auditStore.organizations(database.sql)),
                ...ofScope.map((head) => head.orgId),
              ]),
            ]
      // A mistyped name must not be reported as an intact chain.
      const isKnown = known.length > 0 || ofScope.length > 0 || orgId === undefined || orgId === caller.orgId
      if (!isKnown && (await auditStore.lastSeq(database.sql, orgId)) === 0)
        throw new ServiceError('not_found', `org_id: there are no audit entries of an organization '${orgId}'.`)
      const reports: ChainReport[] = []
      for (const one of orgs.sort())
        reports.push(
          await check(
            one,
            ofScope.filter((head) => head.orgId === one),
          ),
        )
      return reports
    },

    /** Writes the signed heads of chains that have grown to audit-heads.jsonl in the data folder. */
    async exportHeads(): Promise<void> {
      exported ??= await readExported()
      const known = exported
      const grown = (await auditStore.heads(database.sql, null)).filter(({ orgId, seq }) => known.get(orgId) !== seq)
      if (grown.length === 0) return
      const key = await signer.publicKey()
      const lines = await Promise.all(
        grown.map(async (head) => {
          const { orgId, seq, hash, at, signature } = await signed(head)
          return `${JSON.stringify({ org_id: orgId, seq, hash, at, signature, public_key: key })}\n`
        }),
      )
      await append(lines.join('')).catch(refuse)
      for (const { orgId, seq } of grown) known.set(orgId, seq)
    },

    /** Deletes the entries older than `before`, the beginning of the chain; returns how many. The rest can be verified. */
    prune: (org: string | null, before: Date): Promise<number> =>
      database.transaction(async (tx) => {
        const orgId = org ?? ''
        await auditStore.lockHead(tx, orgId)
        const last = await auditStore.lastBefore(tx, orgId, { before, now: now() })
        if (last === null) return 0
        return auditStore.prune(tx, orgId, { ...last, signature: await signer.sign(prunedText(orgId, last)) })
      }),
  }
}

export type AuditChains = ReturnType<typeof createAuditChains>
