import type { Context } from '../context.ts'
import type { Module } from '../module.ts'
import { keysRoutes } from './keys/keys.routes.ts'
import { createKeysService } from './keys/keys.service.ts'
import { createKeysStore } from './keys/keys.store.ts'
import { loginRoutes } from './login/login.routes.ts'
import { createLoginService } from './login/login.service.ts'
import { createLoginStore } from './login/login.store.ts'
import { orgsRoutes } from './orgs/orgs.routes.ts'
import { createOrgsService } from './orgs/orgs.service.ts'
import { createOrgsStore } from './orgs/orgs.store.ts'
import { createRateLimitsStore } from './rate-limits/rate-limits.store.ts'

const HOUR_MS = 60 * 60 * 1000

const create = ({ database, config, now, newId }: Context) => {
  const { enrollment } = config
  const keys = createKeysService({ database, store: createKeysStore(), enrollment, now, newId })
  const login = createLoginService({ database, store: createLoginStore(), keys, enrollment, now })
  const orgs = createOrgsService({ database, store: createOrgsStore(), now })
  return { keys, login, orgs, rateLimits: createRateLimitsStore() }
}

/** Organizations, keys, sign-in, and how often a key may call. */
export type Access = ReturnType<typeof create>

export const access: Module<Access, object> = {
  tables: ['orgs', 'keys', 'login_codes', 'rate_counts'],
  create,
  routes(app, { keys, login, orgs }, { config, now }) {
    keysRoutes(app, keys, now)
    orgsRoutes(app, orgs)
    loginRoutes(app, login, config.enrollment)
  },
  tasks: ({ database, now }, { keys, rateLimits }) => [
    { name: 'key-uses', everyMs: 30_000, run: keys.flushUses },
    { name: 'rate-limits', everyMs: HOUR_MS, run: () => rateLimits.forgetOld(database.sql, now()) },
  ],
}
