-- A new address is another one: what a verifier said of the former address does not hold for it.
CREATE OR REPLACE FUNCTION hot.forget_verification() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.verification := NULL;
  NEW.verification_reasons := NULL;
  NEW.verified_at := NULL;
  NEW.verified_by := NULL;
  RETURN NEW;
END $$;
