import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Caller, homeOf, sees } from '../../../domain/access.ts'
import { type AuditActor, type AuditEntry, type AuditResult, canonicalEntry, changesOf } from '../../../domain/audit.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { cut, storable } from '../../../domain/text.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { storableParameter } from '../../../platform/db/storable-parameters.ts'
import { observed } from '../../../platform/db/transactions.ts'
import type { Signer } from '../../../platform/secrets.ts'
import type { AuditNote, AuditObserver } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import { type AuditName, auditStore, type ErasedName } from './audit.store.ts'
import { type AuditFilter, auditSearchStore, type StoredEntry } from './audit-search.store.ts'

export type { StoredEntry } from './audit-search.store.ts'

/** What the log records about a request. */
export interface AuditedRequest {
  readonly action: string
  /** Null until the request has shown a valid credential. */
  readonly caller: () => Caller | null
  readonly address: string
  readonly requestId: string
  /** The object that the path names; a device without its id, which is a name. */
  readonly object: { readonly kind: string; readonly id: string | null } | null
}

const AT_ONCE = 500
const NAME_CHARS = 255
const REFUSALS_PER_MINUTE = 60
const MINUTE_MS = 60_000
const MAX_ORGS = 10_000

/** Returns the entry as the database will return it, because the hash is computed from that. */
const asStored = (entry: AuditEntry): AuditEntry =>
  Object.fromEntries(
    Object.entries(entry).map(([field, value]) => [
      field,
      typeof value === 'string' ? storable(storableParameter(value) as string) : value,
    ]),
  ) as unknown as AuditEntry

export const hashOfEntry = (entry: AuditEntry): string =>
  createHash('sha256').update(canonicalEntry(entry), 'utf8').digest('hex')

const recordedActor = (caller: Caller | null): { kind: AuditActor; id: string | null; credentialId: string | null } => {
  if (caller === null) return { kind: 'anonymous', id: null, credentialId: null }
  const credentialId = caller.sessionId ?? caller.keyId
  if (caller.personId !== undefined) return { kind: 'person', id: caller.personId, credentialId }
  if (caller.deviceId !== null) return { kind: 'device', id: caller.deviceId, credentialId }
  return { kind: caller.sessionId === caller.keyId ? 'session' : 'key', id: caller.keyId, credentialId }
}

/** Keeps refused attempts from filling the log: it admits at most 60 a minute for each organization and counts the others. */
const createRefusals = (now: () => Date) => {
  const counts = new Map<string, { minute: number; admitted: number; unrecorded: number }>()
  return {
    /** Has this one written, with how many were not since the last one that was, unless there are too many. */
    async record(orgId: string, write: (unrecorded: number) => Promise<void>): Promise<void> {
      const minute = Math.floor(now().getTime() / MINUTE_MS)
      if (counts.size > MAX_ORGS) counts.clear()
      const count = counts.get(orgId) ?? { minute, admitted: 0, unrecorded: 0 }
      counts.set(orgId, count)
      if (count.minute !== minute) Object.assign(count, { minute, admitted: 0 })
      if (count.admitted >= REFUSALS_PER_MINUTE) {
        count.unrecorded++
        return
      }
      const { unrecorded } = count
      count.admitted++
      count.unrecorded = 0
      await write(unrecorded).catch((error: unknown) => {
        count.unrecorded += unrecorded + 1
        throw error
      })
    },
  }
}

/** Records who did what: entries in one hash chain for each organization, written in the transaction of the action. */
export const createAudit = ({ database, now }: Context, { signer }: { readonly signer: Signer }) => {
  const refusals = createRefusals(now)

  const append = async (
    tx: Executor,
    request: AuditedRequest,
    outcome: { note: AuditNote | null; result: AuditResult; status: number | null; more?: object },
  ): Promise<void> => {
    const { note, result, status, more } = outcome
    const caller = note?.actor ?? request.caller()
    const actor = recordedActor(caller)
    const object = note ?? request.object
    const orgId = note?.orgId ?? (caller === null ? null : homeOf(caller)) ?? ''
    const addressId = await signer.pseudonym(request.address)
    const changes = changesOf(asFields(note?.before), { ...asFields(note?.after), ...more })
    const head = await auditStore.lockHead(tx, orgId)
    const entry = asStored({
      orgId,
      seq: head.seq + 1,
      at: now(),
      actorKind: actor.kind,
      actorId: actor.id,
      credentialId: actor.credentialId,
      addressId,
      action: request.action,
      objectKind: object?.kind ?? null,
      objectId: object?.id ?? null,
      changes: JSON.stringify(changes),
      result,
      status,
      requestId: request.requestId,
      prevHash: head.hash,
    })
    const names: AuditName[] = [{ kind: 'address', id: addressId, name: request.address }]
    if (note?.name != null) names.push({ kind: note.kind, id: note.id, name: cut(note.name, NAME_CHARS) })
    if (actor.kind === 'device' && caller?.deviceName != null)
      names.push({ kind: 'device', id: actor.id!, name: caller.deviceName })
    await auditStore.append(tx, { ...entry, hash: hashOfEntry(entry) }, names)
  }

  /** Writes a separate entry, outside the transaction of the action. */
  const appendAlone = (request: AuditedRequest, outcome: Parameters<typeof append>[2]): Promise<void> =>
    observed(null, () => database.transaction((tx) => append(tx, request, outcome)))

  /** Null if the caller may see nothing of the requested organization. */
  const scopeOf = (caller: Caller, orgId: string | undefined): Pick<AuditFilter, 'orgId'> | null =>
    orgId !== undefined && !sees(caller, orgId) ? null : { orgId: orgId ?? caller.orgId }

  return {
    scopeOf,

    /** Follows the transactions of a request: the first that has a note of a change, or has written something, writes the entry. */
    witness(request: AuditedRequest): AuditObserver<Executor> & {
      isWritten(): boolean
      failed(status: number): Promise<void>
    } {
      let note: AuditNote | null = null
      let isAppended = false
      let isCommitted = false
      return {
        begun() {
          if (isCommitted) return
          note = null
          isAppended = false
        },
        note(given) {
          if (!isCommitted) note ??= given
        },
        async ending(tx) {
          if (isCommitted || isAppended || !(note === null ? await auditStore.hasWritten(tx) : isChange(note))) return
          const status = note?.failedWith ?? null
          await append(tx, request, { note, result: status === null ? 'ok' : 'failed', status })
          isAppended = true
        },
        committed() {
          isCommitted ||= isAppended
        },
        isWritten: () => isCommitted,
        /** Called if the response is an error although the change is committed. */
        async failed(status) {
          if (note?.failedWith === undefined) await appendAlone(request, { note, result: 'failed', status })
        },
      }
    },

    /** Records a refused attempt; of many within a minute, only the first ones and how many more there were. */
    async refused(request: AuditedRequest, status: number): Promise<void> {
      const caller = request.caller()
      await refusals.record((caller === null ? null : homeOf(caller)) ?? '', (unrecorded) => {
        const more = unrecorded > 0 ? { unrecordedBefore: unrecorded } : {}
        return appendAlone(request, { note: null, result: 'refused', status, more })
      })
    },

    /** Newest first; only entries older than `before`. */
    async list(
      caller: Caller,
      { orgId, ...filter }: Omit<AuditFilter, 'orgId'> & { readonly orgId: string | undefined },
      page: { before: number | null; limit: number },
    ): Promise<{ entries: StoredEntry[]; next: number | null }> {
      const scope = scopeOf(caller, orgId)
      if (scope === null) return { entries: [], next: null }
      const limit = page.limit + 1
      const entries = await auditSearchStore.page(database.sql, { ...filter, ...scope }, { ...page, limit })
      const shown = entries.slice(0, page.limit)
      return { entries: shown, next: entries.length > page.limit ? shown.at(-1)!.id : null }
    },

    async get(caller: Caller, id: number): Promise<StoredEntry> {
      const found = await auditSearchStore.find(database.sql, caller.orgId, id)
      if (found === null)
        throw new ServiceError('not_found', 'This audit entry does not exist, or this key has no access to it.')
      return found
    },

    /** Yields all matching entries, oldest first, page by page. */
    async *export(
      caller: Caller,
      { orgId, ...filter }: Omit<AuditFilter, 'orgId'> & { readonly orgId: string | undefined },
    ): AsyncGenerator<readonly StoredEntry[]> {
      const scope = scopeOf(caller, orgId)
      for (let after = 0; scope !== null; ) {
        const page = await auditSearchStore.following(database.sql, { ...filter, ...scope }, { after, limit: AT_ONCE })
        if (page.length > 0) yield page
        if (page.length < AT_ONCE) return
        after = page.at(-1)!.id
      }
    },

    /** The last number of each chain: of one organization or, with null, of all. */
    async ends(orgId: string | null): Promise<Readonly<Record<string, number>>> {
      return Object.fromEntries((await auditStore.heads(database.sql, orgId)).map((head) => [head.orgId, head.seq]))
    },

    /** The entries of a chain after a number, in order. */
    after: (orgId: string, afterSeq: number, limit: number): Promise<StoredEntry[]> =>
      auditSearchStore.following(database.sql, { orgId, afterSeq }, { after: 0, limit }),

    /** Erases the name of a person, key, device or object, and what the store erases with it; the chain stays valid. */
    eraseNames: (tx: Executor, orgId: string | null, named: ErasedName) => auditStore.erase(tx, orgId ?? '', named),

    /** The same for a device and its keys. */
    eraseDevice: auditStore.eraseDevice,
  }
}

/** Locks of rows count as written, so the database cannot tell. */
const isChange = ({ before, after, onlyIfChanged }: AuditNote): boolean =>
  onlyIfChanged === undefined || !isDeepStrictEqual(before, after)

const asFields = (object: object | null | undefined): Readonly<Record<string, unknown>> =>
  (object ?? {}) as Readonly<Record<string, unknown>>

export type Audit = ReturnType<typeof createAudit>
