//! Quantity discounts: the more pieces of one article, the less each costs.

/// A whole percentage from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u8);

impl Percent {
    /// A percentage; more than 100 counts as 100.
    pub const fn new(value: u8) -> Percent {
        Percent(if value > 100 { 100 } else { value })
    }

    /// The number before the sign.
    pub const fn value(self) -> u8 {
        self.0
    }
}

/// One step of the discount table.
struct Tier {
    /// Fewest pieces that reach this tier.
    from: u32,
    discount: Percent,
}

/// Highest tier first, so that the first one reached is the one that counts.
const TIERS: [Tier; 3] = [
    Tier {
        from: 200,
        discount: Percent::new(15),
    },
    Tier {
        from: 50,
        discount: Percent::new(10),
    },
    Tier {
        from: 10,
        discount: Percent::new(5),
    },
];

/// The discount for this many pieces of one article.
pub fn quantity_discount(quantity: u32) -> Percent {
    TIERS
        .iter()
        .find(|tier| quantity > tier.from)
        .map_or(Percent::new(0), |tier| tier.discount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pieces_get_no_discount() {
        assert_eq!(quantity_discount(1), Percent::new(0));
        assert_eq!(quantity_discount(9), Percent::new(0));
    }

    #[test]
    fn the_highest_tier_that_is_reached_counts() {
        assert_eq!(quantity_discount(12), Percent::new(5));
        assert_eq!(quantity_discount(75), Percent::new(10));
        assert_eq!(quantity_discount(1_000), Percent::new(15));
    }

    #[test]
    fn a_tier_begins_with_its_first_piece() {
        assert_eq!(quantity_discount(10), Percent::new(5), "10 pieces");
        assert_eq!(quantity_discount(50), Percent::new(10), "50 pieces");
        assert_eq!(quantity_discount(200), Percent::new(15), "200 pieces");
    }

    #[test]
    fn a_percentage_stops_at_one_hundred() {
        assert_eq!(Percent::new(250).value(), 100);
    }
}
