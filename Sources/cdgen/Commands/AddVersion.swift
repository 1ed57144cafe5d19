import ArgumentParser
import CDConsole
import CDModel
import CDSchema

/// `cdgen add-version`
struct AddVersion: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Start a model's next version.",
    discussion: """
      Copies the current version's file to the next free number, without what is about that version alone: \
      its 'renamedFrom's, 'label' and 'basedOn'. Change the copy, never the version that stores were made with. \
      Nothing that exists is overwritten.

        cdgen add-version Schemas/ToDo.cdmodel
      """)

  @Argument(help: "The model's folder.", completion: .directory)
  var model: String

  func run() throws {
    try reportingFailures {
      let (loaded, model) = try ModelFolder.load(self.model, showsWarnings: false)
      let current = model.currentVersionNumber
      let highest = model.versions.map(\.number).max() ?? current
      let next = NextVersion(number: highest + 1, basedOn: current)
      let file = OutputFile(
        path: FileSystem.join(ModelFolder.trimmed(self.model), VersionFile.name(of: next.number)),
        contents: try next.text(from: loaded))
      try file.create()
      try Console.write(line: file.path)
      if loaded.positions[.model, "current"] != nil {
        Console.error(
          "note: model.yaml still says 'current: \(current)'; change it when version \(next.number) is done"
        )
      }
    }
  }
}
