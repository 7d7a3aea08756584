/** Returns the value of a JSON text; null if it is not JSON. */
export const jsonOrNull = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
