import Foundation

@testable import CDRuntime

extension StoreKind {
  /// Makes the entries of a store's list of unused files two hours older. Nobody may have the store open for writing.
  func ageUnusedFiles(of url: URL) throws {
    if self == .sqlite {
      try PlainSQL.run("UPDATE _cdgen_files SET time = time - 7200", at: url)
    } else {
      let list = UnusedFiles(ExternalFiles(store: url))
      list.write(list.read().mapValues { $0 - 7200 })
    }
  }
}
