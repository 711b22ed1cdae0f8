//! nvlink's order of shared variables that compare equal. Its list sort splits into even and odd places and turns
//! both halves round, so it is not stable; where a variable lies depends on it.

/// Which half gives when two compare equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ties {
    First,
    Second,
}

pub(super) fn list_sort<T: Copy>(list: &[T], less: &impl Fn(T, T) -> bool, ties: Ties) -> Vec<T> {
    if list.len() < 2 {
        return list.to_vec();
    }
    let half = |start: usize| -> Vec<T> {
        let mut half: Vec<T> = list.iter().skip(start).step_by(2).copied().collect();
        half.reverse();
        list_sort(&half, less, ties)
    };
    let (left, right) = (half(0), half(1));
    let mut out = Vec::with_capacity(list.len());
    let (mut i, mut j) = (0, 0);
    while let (Some(&a), Some(&b)) = (left.get(i), right.get(j)) {
        let take_right = match ties {
            Ties::Second => !less(a, b),
            Ties::First => less(b, a),
        };
        if take_right {
            out.push(b);
            j += 1;
        } else {
            out.push(a);
            i += 1;
        }
    }
    out.extend_from_slice(&left[i..]);
    out.extend_from_slice(&right[j..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_and_keeps_its_odd_order_of_ties() {
        let sorted = list_sort(&[3, 1, 2, 5, 4], &|a, b| a < b, Ties::First);
        assert_eq!(sorted, [1, 2, 3, 4, 5]);
        // Pairs of (key, place): the order of equal keys is the list sort's own.
        let pairs = [(0, 0), (0, 1), (0, 2), (0, 3)];
        let places = |ties| {
            list_sort(&pairs, &|a: (i32, i32), b| a.0 < b.0, ties)
                .iter()
                .map(|p| p.1)
                .collect::<Vec<_>>()
        };
        assert_eq!(places(Ties::First), [2, 0, 3, 1]);
        assert_eq!(places(Ties::Second), [1, 3, 0, 2]);
    }
}
