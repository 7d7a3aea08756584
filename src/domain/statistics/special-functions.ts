// Distribution functions. Both tails are accurate to a relative 1e-12 or so: an upper tail is never computed as 1 - lower.

const EPSILON = 2 ** -53
/** The smallest divisor in continued fractions (Lentz's method). */
const TINY = 1e-300
const MAX_TERMS = 100_000

/** Godfrey's coefficients for Lanczos's approximation, g = 607/128; relative error below 1e-15. */
const LANCZOS = [
  0.9999999999999971, 57.15623566586292, -59.59796035547549, 14.136097974741746, -0.4919138160976202,
  3.399464998481189e-5, 4.652362892704858e-5, -9.837447530487956e-5, 0.0001580887032249125, -0.00021026444172410488,
  0.00021743961811521265, -0.0001643181065367639, 8.441822398385275e-5, -2.6190838401581408e-5, 3.6899182659531625e-6,
]
const LANCZOS_G = 607 / 128

/** ln Γ(x) for x > 0. */
export const logGamma = (x: number): number => {
  let sum = LANCZOS[0]!
  for (let i = 1; i < LANCZOS.length; i++) sum += LANCZOS[i]! / (x - 1 + i)
  const t = x + LANCZOS_G - 0.5
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum)
}

/** The remainder of Stirling's formula for ln Γ(x); x >= 10. */
const stirlingRest = (x: number): number =>
  (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * x * x)) / (x * x)) / (x * x)) / x

/** ln B(a, b). For a large parameter, Stirling's formula is subtracted analytically, so that nothing cancels. */
const logBeta = (a: number, b: number): number => {
  const large = Math.max(a, b)
  const small = Math.min(a, b)
  if (large < 10) return logGamma(a) + logGamma(b) - logGamma(a + b)
  const ratio =
    (large - 0.5) * Math.log1p(small / large) +
    small * Math.log(large + small) -
    small +
    stirlingRest(large + small) -
    stirlingRest(large)
  return logGamma(small) - ratio
}

/** ln x, from y = 1 - x if that is more precise. */
const logOf = (x: number, y: number): number => (y < 0.5 ? Math.log1p(-y) : Math.log(x))

/** Q(a, x) = Γ(a, x) / Γ(a), the upper tail of the gamma distribution; a > 0, x >= 0. Series below a + 1, fraction above. */
const upperGamma = (a: number, x: number): number => {
  if (x <= 0) return 1
  if (x === Number.POSITIVE_INFINITY) return 0
  const front = Math.exp(a * Math.log(x) - x - logGamma(a))
  if (x < a + 1) {
    let term = 1 / a
    let sum = term
    for (let n = 1; n < MAX_TERMS && Math.abs(term) > Math.abs(sum) * EPSILON; n++) {
      term *= x / (a + n)
      sum += term
    }
    return 1 - front * sum
  }
  let b = x + 1 - a
  let c = 1 / TINY
  let d = 1 / b
  let fraction = d
  for (let n = 1; n < MAX_TERMS; n++) {
    const numerator = -n * (n - a)
    b += 2
    d = 1 / nonZero(numerator * d + b)
    c = nonZero(b + numerator / c)
    const step = d * c
    fraction *= step
    if (Math.abs(step - 1) < EPSILON * 2) break
  }
  return front * fraction
}

const nonZero = (x: number): number => (Math.abs(x) < TINY ? TINY : x)

/**
 * I_x(a, b), the regularized incomplete beta function (DLMF 8.17.22, Lentz's method); a, b > 0. `y` is 1 - x, passed in so that
 * it keeps its precision if x is close to 1.
 */
export const incompleteBeta = (a: number, b: number, x: number, y = 1 - x): number => {
  if (x <= 0) return 0
  if (y <= 0) return 1
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(b, a, y, x)
  const front = Math.exp(a * logOf(x, y) + b * logOf(y, x) - logBeta(a, b)) / a
  let c = 1
  let d = 1 / nonZero(1 - ((a + b) * x) / (a + 1))
  let fraction = d
  for (let m = 1; m < MAX_TERMS; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / nonZero(1 + even * d)
    c = nonZero(1 + even / c)
    fraction *= d * c
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / nonZero(1 + odd * d)
    c = nonZero(1 + odd / c)
    const step = d * c
    fraction *= step
    if (Math.abs(step - 1) < EPSILON * 2) break
  }
  return front * fraction
}

/** Density of the standard normal distribution. */
export const normalDensity = (x: number): number => Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI)

/** P(Z > x) of the standard normal distribution: a series near 0 (Marsaglia 2004), Laplace's continued fraction beyond. */
export const normalUpper = (x: number): number => {
  if (x < 0) return 1 - normalUpper(-x)
  if (x < 2) {
    let term = x
    let sum = x
    for (let n = 3; term > sum * EPSILON; n += 2) {
      term *= (x * x) / n
      sum += term
    }
    return 0.5 - sum * normalDensity(x)
  }
  let fraction = x
  for (let n = Math.ceil(30 + 200 / (x * x)); n > 0; n--) fraction = x + n / fraction
  return normalDensity(x) / fraction
}

/** P(X > x) of the chi-square distribution. */
export const chiSquareUpper = (x: number, degreesOfFreedom: number): number => upperGamma(degreesOfFreedom / 2, x / 2)

/** P(X > f) of the F distribution. */
export const fUpper = (f: number, numerator: number, denominator: number): number => {
  if (f <= 0) return 1
  if (f === Number.POSITIVE_INFINITY) return 0
  const whole = denominator + numerator * f
  return incompleteBeta(denominator / 2, numerator / 2, denominator / whole, (numerator * f) / whole)
}

/** P(|T| > |t|) of Student's t distribution. */
export const tTwoSided = (t: number, degreesOfFreedom: number): number => fUpper(t * t, 1, degreesOfFreedom)

/** The t with P(|T| > t) = alpha, to a relative 1e-14: bracketing, then bisection of the bracket's logarithm. */
export const tCritical = (alpha: number, degreesOfFreedom: number): number => {
  if (alpha >= 1) return 0
  let low = 0
  let high = 1
  while (tTwoSided(high, degreesOfFreedom) > alpha) {
    low = high
    high *= 2
    if (!Number.isFinite(high)) return Number.POSITIVE_INFINITY
  }
  for (let n = 0; n < 200 && high - low > high * EPSILON; n++) {
    const middle = (low + high) / 2
    if (middle === low || middle === high) break
    if (tTwoSided(middle, degreesOfFreedom) > alpha) low = middle
    else high = middle
  }
  return (low + high) / 2
}
