import CDModel
import Synchronization

/// The hashes of a model version, made when they are first asked for: a store that carries the very version needs
/// none, and most openings are of such a store.
final class VersionHashes: Sendable {
  private let graph: EntityGraph
  private let made = Mutex<ModelHashes?>(nil)

  init(_ graph: EntityGraph) { self.graph = graph }

  var value: ModelHashes {
    made.withLock { made in
      if let made { return made }
      let hashes = ModelHashes(graph)
      made = hashes
      return hashes
    }
  }
}
