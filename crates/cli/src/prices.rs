//! The table of prices: what the person wrote in `prices.toml` of the home, then what providers list.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use offshoot_session::cost::{Charge, Price, Prices, Tally, charges, tally_by_prompt};
use offshoot_session::{EntryId, SessionTree};
use offshoot_store::private;
use offshoot_transcripts::claude::billed_as;

use crate::failure::Failure;
use crate::here::Here;
use crate::session_file::cannot_read;
use crate::words;

#[derive(Debug)]
pub(crate) struct PriceTable {
    /// Where the person's own prices are or would be.
    pub(crate) file: PathBuf,
    /// How many of the first are the person's.
    pub(crate) own: usize,
    pub(crate) prices: Prices,
}

pub(crate) fn load(here: &Here) -> Result<PriceTable, Failure> {
    load_from(here.store()?.home().root())
}

/// The table, or what providers list if it cannot be read: `offshoot cost` says what is wrong with it.
pub(crate) fn usable(here: &Here) -> Prices {
    load(here).map_or_else(|_| Prices::listed(), |table| table.prices)
}

/// Everything a session has used, as every command counts it.
pub(crate) fn charges_of(tree: &SessionTree, prices: &Prices) -> Vec<Charge> {
    charges(tree, prices, |record| record.source.as_ref().and_then(billed_as))
}

/// What each turn has used, by its prompt.
pub(crate) fn of_turns(tree: &SessionTree, prices: &Prices) -> HashMap<EntryId, Tally> {
    tally_by_prompt(tree, &charges_of(tree, prices))
}

/// The person's own prices.
pub(crate) fn file(home: &Path) -> PathBuf {
    home.join("prices.toml")
}

pub(crate) fn load_from(home: &Path) -> Result<PriceTable, Failure> {
    let file = file(home);
    let text = private::read(&file).and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
    let own = match text {
        Ok(text) => read(&text).map_err(|why| Failure::failed(words::reading::bad_prices(&file, &why)))?,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(cannot_read(&file, &error)),
    };
    let count = own.len();
    let prices = Prices(own.into_iter().chain(Prices::listed().0).collect());
    Ok(PriceTable { file, own: count, prices })
}

/// `[[model]]` tables with `name` and prices in dollars for a million tokens; reading and writing the cache cost what
/// input costs, where nothing is said.
fn read(text: &str) -> Result<Vec<Price>, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    if let Some(odd) = table.keys().find(|key| *key != "model") {
        return Err(format!("`{odd}` is not known; prices are `[[model]]` tables"));
    }
    let models = table.get("model").and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    models.iter().map(price).collect()
}

fn price(model: &toml::Value) -> Result<Price, String> {
    let name = model.get("name").and_then(toml::Value::as_str).ok_or("a model has no `name`")?;
    let dollars = |key: &str| match model.get(key) {
        None => Ok(None),
        Some(value) => {
            let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
            let number = number.filter(|number| number.is_finite() && *number >= 0.0);
            number.map(Some).ok_or_else(|| format!("`{key}` of `{name}` is not a price"))
        }
    };
    let needed = |key: &str| dollars(key)?.ok_or_else(|| format!("`{name}` has no `{key}`"));
    let input = needed("input")?;
    let cached = |key: &str| Ok::<f64, String>(dollars(key)?.unwrap_or(input));
    Ok(Price::in_dollars(name, [input, needed("output")?, cached("cache_read")?, cached("cache_write")?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_dollars_for_a_million() {
        let text = "[[model]]\nname = \"local/*\"\ninput = 1\noutput = 2.5\ncache_read = 0.1\n";
        assert_eq!(read(text), Ok(vec![Price::in_dollars("local/*", [1.0, 2.5, 0.1, 1.0])]));
        assert_eq!(read(""), Ok(Vec::new()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(read("[[model]]\nname = \"x\"\ninput = 1\n"), Err("`x` has no `output`".to_owned()));
        let negative = "[[model]]\nname = \"x\"\ninput = -1\noutput = 1\n";
        assert_eq!(read(negative), Err("`input` of `x` is not a price".to_owned()));
        assert!(read("[model").is_err());
        assert!(read("[prices]\n").is_err());
    }
}
