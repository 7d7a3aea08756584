import { useEffect, useState } from 'react'
import { exact, NONE, relative } from '../text/format.ts'

/** The time, so often. */
export const useNow = (everyMs = 5000): Date => {
  const [now, setNow] = useState(() => new Date())
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}

/** `2 min ago`, with the exact time on hover. */
export const Ago = ({ time }: { readonly time: string | null }) => {
  const now = useNow()
  if (time === null) return NONE
  const date = new Date(time)
  return (
    <time dateTime={time} title={exact(date)}>
      {relative(date, now)}
    </time>
  )
}
