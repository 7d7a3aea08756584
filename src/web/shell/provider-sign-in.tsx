import { useQuery } from '@tanstack/react-query'
import { finishProviderSignIn, leaveForProvider, type SecondFactorStep } from '../api/session.ts'
import { Loaded, Problem } from '../parts/layout.tsx'
import { SignInForm, TryButton } from './sign-in-form.tsx'

/** Leaves for the identity provider; for the organization that the form around it names, where it has such a field. */
export const ByProvider = ({ provider }: { readonly provider: string | null }) => {
  if (provider === null) return null
  const leave = (form: HTMLFormElement | null): Promise<void> =>
    leaveForProvider(form === null ? '' : String(new FormData(form).get('org') ?? '').trim())
  return <TryButton act={leave}>Use {provider}</TryButton>
}

/** The way back from the identity provider: signed in, or with a second factor due. */
export const ProviderAnswer = ({
  query,
  onDone,
}: {
  readonly query: string
  readonly onDone: (step: SecondFactorStep | null) => void
}) => {
  const finished = useQuery({
    queryKey: ['provider-answer'],
    queryFn: async () => {
      onDone(await finishProviderSignIn(query))
      return true
    },
    retry: false,
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
