//! What is compared, and what is to be reached.

/// A comparison, by its name, unit and goal.
#[derive(Debug)]
pub struct Figure {
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    pub(crate) what: &'static str,
    pub(crate) goal: Option<Goal>,
}

/// The unit of samples; it also decides whether more is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds per call; less is better.
    Micros,
    /// Seconds; less is better.
    Seconds,
    /// Megabytes; less is better.
    Megabytes,
    /// Items per second; more is better.
    ItemsPerSecond,
    /// Calls per second; more is better.
    CallsPerSecond,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Figure {
    /// A figure without a goal. `what` completes the sentence "The ratio of …".
    #[must_use]
    pub const fn new(name: &'static str, unit: Unit, what: &'static str) -> Self {
        Self {
            name,
            unit,
            what,
            goal: None,
        }
    }

    /// The ratio to reach; a ratio that is better reaches the goal, too.
    #[must_use]
    pub const fn to_reach(self, ratio: f64) -> Self {
        let goal = match self.unit {
            unit if unit.is_rate() => Goal::AtLeast(ratio),
            _ => Goal::AtMost(ratio),
        };
        Self {
            goal: Some(goal),
            ..self
        }
    }

    /// The name by which the command line selects the figure.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// The figures of these arrays, of which there must be `N`.
#[must_use]
pub const fn figures<const N: usize>(arrays: &[&'static [Figure]]) -> [&'static Figure; N] {
    let mut all = [&arrays[0][0]; N];
    let (mut array, mut nth, mut at) = (0, 0, 0);
    while array < arrays.len() {
        if nth < arrays[array].len() {
            all[at] = &arrays[array][nth];
            (nth, at) = (nth + 1, at + 1);
        } else {
            (array, nth) = (array + 1, 0);
        }
    }
    assert!(at == N, "the arrays have another number of figures");
    all
}

impl Unit {
    /// The unit as it is printed.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Micros => "us",
            Self::Seconds => "s",
            Self::Megabytes => "MB",
            Self::ItemsPerSecond => "items/s",
            Self::CallsPerSecond => "calls/s",
        }
    }

    /// Whether more is better.
    pub(crate) const fn is_rate(self) -> bool {
        matches!(self, Self::ItemsPerSecond | Self::CallsPerSecond)
    }
}

impl Goal {
    pub(crate) fn is_reached(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(goal) => ratio <= goal,
            Self::AtLeast(goal) => ratio >= goal,
        }
    }

    pub(crate) fn text(self) -> String {
        match self {
            Self::AtMost(goal) => format!("≤ {goal}"),
            Self::AtLeast(goal) => format!("≥ {goal}"),
        }
    }
}
