from coder.permissions.secrets import parse_configuration, safe_configuration


def test_parses_configuration_as_git_does() -> None:
    text = '[core]\n\tbare = false ; no\n[a "b.\\"c"] Key="x # y" \\\n z\n\tflag\n[core] fsmonitor = run'
    assert list(parse_configuration(text)) == [
        ("core.bare", "false"),
        ('a.b."c.key', "x # y  z"),
        ('a.b."c.flag', "true"),
        ("core.fsmonitor", "run"),
    ]


def test_keeps_harmless_git_configuration() -> None:
    text = (
        "[core]\n\tfileMode = true\n\tfsmonitor = evil\n\tworktree = /\n[user]\n"
        '\tname = "A \\"B\\""\n[branch "a/b"]\n\tremote = origin\n'
        '[include]\n\tpath = evil\n[filter "x"]\n\tclean = evil\n[extensions]\n'
        "\tobjectFormat = sha1\n\tworktreeConfig = true\n"
    )
    settings = list(parse_configuration(safe_configuration(text)))
    assert settings == [
        ("core.filemode", "true"),
        ("user.name", 'A "B"'),
        ("branch.a/b.remote", "origin"),
        ("extensions.objectformat", "sha1"),
    ]


def test_a_value_cannot_become_a_key() -> None:
    assert list(
        parse_configuration(
            safe_configuration('[user]\n\tname = "x\\\\"\n\temail = a] [core] fsmonitor=evil\n')
        )
    ) == [
        ("user.name", "x\\"),
        ("user.email", "a] [core] fsmonitor=evil"),
    ]
