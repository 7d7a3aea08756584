import { Readable } from 'node:stream'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import type { Static } from '../../../platform/http/wire.schema.ts'
import { CSV_HEAD, csvLine, presentChain, presentEntry, presentHead } from './audit.present.ts'
import {
  AuditEntry,
  AuditExport,
  AuditExportQuery,
  AuditHeads,
  AuditPage,
  AuditParams,
  AuditQuery,
  AuditVerification,
  VerifyAuditBody,
} from './audit.schema.ts'
import type { Audit, StoredEntry } from './audit.service.ts'
import type { AuditChains } from './chains.service.ts'

type Filters = Omit<Static<typeof AuditExportQuery>, 'format'>

const filterOf = ({ org_id: orgId, actor, action, object, result, since, until }: Filters) => ({
  orgId,
  actor,
  action,
  object,
  result,
  since: since === undefined ? undefined : new Date(since),
  until: until === undefined ? undefined : new Date(until),
})

export const auditRoutes = (app: App, audit: Audit, chains: AuditChains): void => {
  app.get(
    '/api/v1/audit',
    {
      schema: {
        operationId: 'listAudit',
        summary: 'List entries of the audit log',
        description: 'Who did what, newest first.',
        querystring: AuditQuery,
        response: { 200: AuditPage },
      },
      config: { access: 'admin' } satisfies RouteConfig,
    },
    async (request) => {
      const { after, limit, ...filters } = request.query
      const page = { before: after === undefined ? null : Number(after), limit }
      const { entries, next } = await audit.list(callerOf(request), filterOf(filters), page)
      return { entries: entries.map(presentEntry), next: next === null ? null : String(next) }
    },
  )

  app.get(
    '/api/v1/audit/:entry_id',
    {
      schema: {
        operationId: 'getAuditEntry',
        summary: 'Get an entry of the audit log',
        params: AuditParams,
        response: { 200: AuditEntry },
      },
      config: { access: 'admin', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => presentEntry(await audit.get(callerOf(request), request.params.entry_id)),
  )

  app.get(
    '/api/v1/audit/export',
    {
      // A HEAD request would read the whole log.
      exposeHeadRoute: false,
      schema: {
        operationId: 'exportAudit',
        summary: 'Download the audit log',
        description: 'All matching entries, oldest first, as JSON lines or CSV.',
        produces: ['application/x-ndjson', 'text/csv'],
        querystring: AuditExportQuery,
        response: { 200: AuditExport },
      },
      config: { access: 'admin' } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { format, ...filters } = request.query
      const pages = audit.export(callerOf(request), filterOf(filters))
      return reply
        .type(format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8')
        .header('content-disposition', `attachment; filename="audit.${format}"`)
        .send(Readable.from(texts(pages, format), { objectMode: false }))
    },
  )
  chainRoutes(app, chains)
}

const chainRoutes = (app: App, chains: AuditChains): void => {
  app.get(
    '/api/v1/audit/head',
    {
      schema: {
        operationId: 'getAuditHeads',
        summary: 'Get the signed heads of the audit chains',
        description: 'Store them outside the service: they reveal whether the log was truncated.',
        response: { 200: AuditHeads },
      },
      config: { access: 'admin' } satisfies RouteConfig,
    },
    async (request) => ({
      public_key: await chains.publicKey(),
      heads: (await chains.heads(callerOf(request))).map(presentHead),
    }),
  )

  app.post(
    '/api/v1/audit/verify',
    {
      schema: {
        operationId: 'verifyAudit',
        summary: 'Verify the audit chains',
        description: 'Recompute every hash, compare saved signed heads, and report the first invalid entry.',
        body: optionalBody(VerifyAuditBody),
        response: { 200: AuditVerification },
      },
      config: { access: 'admin', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { org_id: orgId, heads = [] } = request.body ?? {}
      const kept = heads.map(({ org_id, ...head }) => ({ ...head, orgId: org_id ?? '' }))
      const found = (await chains.verify(callerOf(request), orgId, kept)).map(presentChain)
      return { valid: found.every(({ valid }) => valid), chains: found }
    },
  )
}

async function* texts(pages: AsyncIterable<readonly StoredEntry[]>, format: 'jsonl' | 'csv'): AsyncGenerator<Buffer> {
  if (format === 'csv') yield Buffer.from(CSV_HEAD)
  for await (const entries of pages) {
    const lines = entries.map((one) => (format === 'csv' ? csvLine(one) : `${JSON.stringify(presentEntry(one))}\n`))
    yield Buffer.from(lines.join(''))
  }
}
