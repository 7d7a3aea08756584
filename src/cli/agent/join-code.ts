import { withoutCredentials } from '../../domain/address-credentials.ts'
import { displayCode, typedCode } from '../../domain/pairing.ts'
import { wrongUsage } from '../failure.ts'
import { parseApiBase } from '../service-address.ts'

export interface JoinCode {
  readonly baseUrl: string
  /** Without its dash. */
  readonly code: string
}

/** `ABCD-2345@http://192.168.1.20:8000`: a pairing code and the service's address, in one word without shell metacharacters. */
export const composeJoinCode = ({ baseUrl, code }: JoinCode): string => `${displayCode(code)}@${baseUrl}`

const EXPECTED = 'It must look like ABCD-2345@http://192.168.1.20:8000, as svc devices invite prints it.'

/** Parses a join code. Also accepts a pairing address, as in the QR code: `http://.../pair?code=ABCD-2345`. */
export const parseJoinCode = (text: string): JoinCode => {
  const url = URL.canParse(text) ? new URL(text) : null
  const fromPage = url?.searchParams.get('code')
  const [typed, address] =
    url !== null && fromPage != null
      ? [fromPage, url.origin + url.pathname.replace(/\/pair\/?$/, '')]
      : [text.slice(0, text.indexOf('@')), text.slice(text.indexOf('@') + 1)]
  const code = typedCode(typed)
  if (code === null || address === '') {
    // Before its first @ is the code, unless that is a user name and a password.
    const [, begin = '', rest = text] = /^([\w\s-]*@)(.*)$/s.exec(text) ?? []
    throw wrongUsage(`'${(begin + withoutCredentials(rest)).slice(0, 100)}' is not a join code.`, EXPECTED)
  }
  return { code, baseUrl: parseApiBase(address, 'The address in the join code') }
}
