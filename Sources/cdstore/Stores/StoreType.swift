import ArgumentParser
import CDRuntime
import Foundation

/// The kinds of stores that a command line can make.
enum StoreType: String, CaseIterable, ExpressibleByArgument {
  case sqlite, xml, binary

  func location(_ url: URL) -> StoreLocation {
    switch self {
    case .sqlite: .sqlite(url)
    case .xml: .xml(url)
    case .binary: .binary(url)
    }
  }

  /// The kind of a store that is there.
  init(of url: URL) throws {
    switch try StoreLocation(recognizing: url) {
    case .xml: self = .xml
    case .binary: self = .binary
    case .sqlite, .inMemory, .custom, .engine: self = .sqlite
    }
  }
}
