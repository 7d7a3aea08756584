import { badRequest } from './errors.ts'
import { isUuid, MODEL_NAME } from './model.ts'

/** Excludes anything that could be a version number or a semantic version, with or without a `v`. */
export const ALIAS = /^(?![vV]?\d)[A-Za-z][A-Za-z0-9_-]{0,62}$/

/** Words with a predefined meaning. */
const RESERVED = ['latest', 'previous']

export const isAlias = (text: string): boolean => ALIAS.test(text) && !RESERVED.includes(text)

/** @throws bad_request */
export const requireAlias = (text: string): void => {
  if (isAlias(text)) return
  throw badRequest(
    RESERVED.includes(text)
      ? `alias: '${text}' is reserved. Choose another name.`
      : `alias: '${text.slice(0, 100)}' must begin with a letter, have at most 63 letters, digits, underscores, and hyphens, and not look ` +
          'like a version.',
  )
}

/**
 * Splits `my-model@production` at the last `@`; null if the text names only a model. Callers first look for a model with the
 * whole name: models created by version 1.0.0 or by hand may contain an `@`.
 */
export const splitReference = (text: string): { readonly name: string; readonly version: string } | null => {
  const at = text.lastIndexOf('@')
  const name = text.slice(0, at)
  const version = text.slice(at + 1)
  return at > 0 && version !== '' && (MODEL_NAME.test(name) || isUuid(name)) ? { name, version } : null
}

/**
 * Returns the version that a request means, from its reference (`named`) and its version field. `latest` in the field is
 * treated as unset. @throws bad_request if the two name different versions
 */
export const versionMeant = (reference: string, named: string | undefined, field: string | undefined): string => {
  if (named === undefined) return field ?? 'latest'
  if (field === undefined || field === 'latest' || field === named) return named
  throw badRequest(
    `'${reference}' names version ${named}, but the request names version ${field}. Send only one of them.`,
  )
}
