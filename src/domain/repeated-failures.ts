const LOGGED_EVERY = 300

/**
 * Whether to log the n-th failure in a row with the same message: the 1st, 2nd, 4th, 8th, and so on, and each 300th. What is
 * tried every second during an outage would otherwise fill the log.
 */
export const isLogged = (count: number): boolean => (count & (count - 1)) === 0 || count % LOGGED_EVERY === 0
