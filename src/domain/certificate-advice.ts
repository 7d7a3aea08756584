/** True if this code of a failed connection says that the authority of the certificate is unknown. */
export const isUnknownAuthority = (code: string): boolean => /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/.test(code)

/** Returns what to do if the service was reached but its certificate was refused; null for other failures. */
export const certificateAdvice = (code: string): string | null => {
  if (isUnknownAuthority(code))
    return 'This machine does not know the authority of the certificate. If it is your own, set NODE_EXTRA_CA_CERTS to its certificate file.'
  if (code.startsWith('ERR_TLS_CERT_ALTNAME'))
    return "The service's certificate is for another host: use that one in the service's address."
  if (/^CERT_(HAS_EXPIRED|NOT_YET)/.test(code))
    return "Renew the service's certificate, or correct this machine's clock."
  return null
}
