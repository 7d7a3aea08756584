/** Short: small models follow little, and every question pays for it. */
export const SYSTEM_PROMPT = 'You are a helpful programming assistant. Put code in fenced blocks and be brief.'
