//! The picture of a board: coordinates, discs, the last move, what it turned (also while it turns), and where the player
//! to act may place.

use tablemate_engine::Colour;
use tablemate_engine::reversi::{Square, SquareSet};

use super::grid::Grid;
use super::text::{Figure, Ground, Ink, Line};

/// The characters of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// A black disc.
    pub black: char,
    /// A white disc.
    pub white: char,
    /// A disc on its edge.
    pub turning: char,
    /// An empty square.
    pub empty: char,
    /// An empty square where the player to act may place.
    pub legal: char,
}

impl Glyphs {
    /// For terminals that show Unicode.
    pub const UNICODE: Glyphs = Glyphs {
        black: '●',
        white: '○',
        turning: '◐',
        empty: '·',
        legal: '+',
    };
    /// For those that do not.
    pub const ASCII: Glyphs = Glyphs {
        black: 'X',
        white: 'O',
        turning: '/',
        empty: '.',
        legal: '+',
    };

    /// The disc of a colour.
    #[must_use]
    pub const fn disc(self, colour: Colour) -> char {
        match colour {
            Colour::Black => self.black,
            Colour::White => self.white,
        }
    }

    /// What stands on a square.
    const fn figure(self, figure: Figure) -> char {
        match figure {
            Figure::Nothing => self.empty,
            Figure::Legal => self.legal,
            Figure::Disc(colour) => self.disc(colour),
            Figure::Turning => self.turning,
        }
    }
}

/// A move as it is shown: the new disc and the discs it turned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flip {
    /// The new disc.
    pub placed: Square,
    /// Its colour.
    pub by: Colour,
    /// The discs turned.
    pub turned: Vec<Square>,
}

/// How far the turning of a move is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// Between its beginning (0) and its end (1).
    Turning(f64),
    /// All turned.
    Done,
}

/// How a turned disc looks right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    Edge,
    After,
}

impl Flip {
    /// The discs turn from the new one outward, all directions at once: those beside it first. A disc is on its edge for
    /// its share of the time.
    fn side(&self, square: Square, progress: Progress) -> Side {
        let Progress::Turning(done) = progress else {
            return Side::After;
        };
        let distance = |square: Square| {
            let columns = square.column().abs_diff(self.placed.column());
            let rows = square.row().abs_diff(self.placed.row());
            columns.max(rows)
        };
        let farthest = self
            .turned
            .iter()
            .map(|turned| distance(*turned))
            .max()
            .unwrap_or(1);
        let steps_done = done.clamp(0.0, 1.0) * f64::from(farthest);
        let own_step = f64::from(distance(square));
        if steps_done >= own_step {
            Side::After
        } else if steps_done > own_step - 1.0 {
            Side::Edge
        } else {
            Side::Before
        }
    }
}

/// A board to be drawn.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// The discs, the last move done.
    pub grid: &'a Grid,
    /// The last move and how far its turning is shown.
    pub last: Option<(&'a Flip, Progress)>,
    /// Where the player to act may place; nothing is marked when it is empty.
    pub legal: SquareSet,
    /// The characters to use.
    pub glyphs: Glyphs,
}

/// Lines of a picture: the letters, and the eight rows.
pub const HEIGHT: usize = 9;
/// Columns of a picture: the digit, a space, and three for each square.
pub const WIDTH: usize = 2 + 3 * 8;

impl Picture<'_> {
    /// The lines, each [`WIDTH`] columns wide. The last move stands in square brackets, what it turned in round ones, so
    /// that both can be told without colours.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::with_capacity(HEIGHT);
        let mut letters = Line::of("  ", Ink::Plain);
        for letter in 'a'..='h' {
            letters.push(format!(" {letter} "), Ink::Faint);
        }
        lines.push(letters);
        for row in 0..8 {
            let mut line = Line::of(format!("{} ", row + 1), Ink::Faint);
            for square in (0..8).filter_map(|column| Square::at(column, row)) {
                let (figure, ground) = self.square(square);
                let glyph = self.glyphs.figure(figure);
                let text = match ground {
                    Ground::Felt => format!(" {glyph} "),
                    Ground::Turned => format!("({glyph})"),
                    Ground::Last => format!("[{glyph}]"),
                };
                line.push(text, Ink::Square(figure, ground));
            }
            lines.push(line);
        }
        lines
    }

    fn square(&self, square: Square) -> (Figure, Ground) {
        let Some(colour) = self.grid.at(square) else {
            let figure = if self.legal.contains(square) {
                Figure::Legal
            } else {
                Figure::Nothing
            };
            return (figure, Ground::Felt);
        };
        match self.last {
            Some((flip, _)) if flip.placed == square => (Figure::Disc(colour), Ground::Last),
            Some((flip, progress)) if flip.turned.contains(&square) => match flip.side(square, progress) {
                Side::Before => (Figure::Disc(flip.by.other()), Ground::Felt),
                Side::Edge => (Figure::Turning, Ground::Turned),
                Side::After => (Figure::Disc(colour), Ground::Turned),
            },
            _ => (Figure::Disc(colour), Ground::Felt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablemate_engine::reversi::{Move, Start};

    fn drawn(picture: Picture<'_>) -> String {
        let lines = picture.lines();
        assert_eq!(lines.len(), HEIGHT);
        for line in &lines {
            assert_eq!(line.width(), WIDTH);
        }
        lines.iter().map(|line| line.plain() + "\n").collect()
    }

    fn grid(text: &str) -> Grid {
        text.parse().unwrap()
    }

    #[test]
    fn r1_the_start_with_blacks_moves_marked() {
        let position = Start::Crossed.position();
        let picture = Picture {
            grid: &grid(&position.to_string()),
            last: None,
            legal: position.placements(),
            glyphs: Glyphs::UNICODE,
        };
        assert_eq!(
            drawn(picture),
            "   a  b  c  d  e  f  g  h\n\
             1  ·  ·  ·  ·  ·  ·  ·  ·\n\
             2  ·  ·  ·  ·  ·  ·  ·  ·\n\
             3  ·  ·  ·  +  ·  ·  ·  ·\n\
             4  ·  ·  +  ○  ●  ·  ·  ·\n\
             5  ·  ·  ·  ●  ○  +  ·  ·\n\
             6  ·  ·  ·  ·  +  ·  ·  ·\n\
             7  ·  ·  ·  ·  ·  ·  ·  ·\n\
             8  ·  ·  ·  ·  ·  ·  ·  ·\n"
        );
    }

    #[test]
    fn r12_the_last_move_and_what_it_turned_are_told_apart_without_colours() {
        let (after, played) = Start::Crossed.position().play(Move::Place(Square::D3)).unwrap();
        let flip = Flip {
            placed: Square::D3,
            by: Colour::Black,
            turned: played.turned.iter().collect(),
        };
        let picture = Picture {
            grid: &grid(&after.to_string()),
            last: Some((&flip, Progress::Done)),
            legal: SquareSet::EMPTY,
            glyphs: Glyphs::ASCII,
        };
        assert_eq!(
            drawn(picture),
            "   a  b  c  d  e  f  g  h\n\
             1  .  .  .  .  .  .  .  .\n\
             2  .  .  .  .  .  .  .  .\n\
             3  .  .  . [X] .  .  .  .\n\
             4  .  .  . (X) X  .  .  .\n\
             5  .  .  .  X  O  .  .  .\n\
             6  .  .  .  .  .  .  .  .\n\
             7  .  .  .  .  .  .  .  .\n\
             8  .  .  .  .  .  .  .  .\n"
        );
    }

    /// The first row while h1, placed at the right end, turns the six discs to its left.
    fn row_at(done: f64) -> String {
        let row = "XXXXXXXX".to_owned() + &"-".repeat(56);
        let grid = grid(&row);
        let flip = Flip {
            placed: Square::H1,
            by: Colour::Black,
            turned: vec![
                Square::G1,
                Square::F1,
                Square::E1,
                Square::D1,
                Square::C1,
                Square::B1,
            ],
        };
        let picture = Picture {
            grid: &grid,
            last: Some((&flip, Progress::Turning(done))),
            legal: SquareSet::EMPTY,
            glyphs: Glyphs::UNICODE,
        };
        picture.lines()[1].plain()
    }

    #[test]
    fn r12_discs_turn_outward_from_the_new_one() {
        assert_eq!(row_at(0.0), "1  ●  ○  ○  ○  ○  ○  ○ [●]");
        assert_eq!(row_at(0.1), "1  ●  ○  ○  ○  ○  ○ (◐)[●]");
        assert_eq!(row_at(0.4), "1  ●  ○  ○  ○ (◐)(●)(●)[●]");
        assert_eq!(row_at(0.95), "1  ● (◐)(●)(●)(●)(●)(●)[●]");
        assert_eq!(row_at(1.0), "1  ● (●)(●)(●)(●)(●)(●)[●]");
    }
}
