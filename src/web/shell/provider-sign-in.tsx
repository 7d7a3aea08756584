import { useQuery } from '@tanstack/react-query'
import { finishProviderSignIn, leaveForProvider, type SecondFactorStep } from '../api/session.ts'
import { Loaded, Problem } from '../parts/layout.tsx'
import { keepPlace } from './next-page.ts'
import { SignInForm, TryButton } from './sign-in-form.tsx'

interface ByProviderProps {
  readonly provider: string | null
  readonly orgId: string | null
}

/** Redirects to the identity provider, for the organization in the surrounding form if it has such a field, else `orgId`. */
export const ByProvider = ({ provider, orgId }: ByProviderProps) => {
  if (provider === null) return null
  const leave = (form: HTMLFormElement | null): Promise<void> => {
    keepPlace()
    const entered = form === null ? null : new FormData(form).get('org')
    return leaveForProvider(String(entered ?? orgId ?? '').trim())
  }
  return <TryButton act={leave}>Use {provider}</TryButton>
}

interface ProviderCallbackProps {
  readonly query: string
  readonly onDone: (step: SecondFactorStep | null) => void
}

/** The return from the identity provider: signed in, or with a second factor required. */
export const ProviderCallback = ({ query, onDone }: ProviderCallbackProps) => {
  const finished = useQuery({
    queryKey: ['provider-answer'],
    queryFn: async () => {
      onDone(await finishProviderSignIn(query))
      return true
    },
    // The provider's response works once.
    retry: false,
    refetchInterval: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (finished.error === null) return <Loaded query={finished}>{() => null}</Loaded>
  const back = async (): Promise<void> => onDone(null)
  return (
    <SignInForm title="Not signed in" verb="Back" act={back}>
      <Problem error={finished.error} />
    </SignInForm>
  )
}
