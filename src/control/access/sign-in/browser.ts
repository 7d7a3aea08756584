import type { FastifyRequest } from 'fastify'
import { forbidden } from '../../../domain/errors.ts'
import { isFromOwnPage } from '../../../platform/http/access.ts'
import {
  knownBrowserCookie,
  knownBrowserTokenIn,
  sessionCookie,
  sessionTokenIn,
  stepCookie,
} from '../../../platform/http/session-cookie.ts'
import type { Browser, Outcome } from './sign-in.service.ts'
import { STEP_SECONDS } from './steps.service.ts'

/** @throws forbidden if a page of another site sent it */
export const requireOwnPage = (request: FastifyRequest): void => {
  if (!isFromOwnPage(request))
    throw forbidden('Only a page of this service can open a session. Use the API key itself.')
}

export const browserOf = (request: FastifyRequest): Browser => ({
  address: request.ip,
  known: knownBrowserTokenIn(request),
  name: request.headers['user-agent'] ?? '',
  former: sessionTokenIn(request),
})

/** Returns the Set-Cookie headers for the outcome of a sign-in. */
export const cookiesOf = (request: FastifyRequest, outcome: Outcome): string[] =>
  outcome.kind === 'step'
    ? [stepCookie(request, outcome.token, STEP_SECONDS)]
    : [
        sessionCookie(request, outcome.opened.token, outcome.opened.seconds),
        knownBrowserCookie(request, outcome.known),
        stepCookie(request, '', 0),
      ]

export const presentStep = ({ factors }: Outcome & { readonly kind: 'step' }) => ({
  next: 'second_factor' as const,
  factors: [...factors],
  expires_in: STEP_SECONDS,
})
