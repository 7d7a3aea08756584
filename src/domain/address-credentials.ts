/** Whether the address has a user name or a password. */
export const hasCredentials = ({ username, password }: URL): boolean => username !== '' || password !== ''

/**
 * The address as an error may show it: without a user name and password. It may be malformed, and a password may contain any
 * character, so everything up to the last @ is left out.
 */
export const withoutCredentials = (address: string): string =>
  address.replace(/^((?:[a-z][a-z\d+.-]*:)?\/\/)?[\s\S]*@/i, '$1')
